import { f32, i32, type SharedCase, tensor, type WrongCase } from "../../opCases.ts";

/** Cases of the ops on one f32 tensor that have no parameters, with values in `[low, high)`. */
export function unaryCases(low: number, high: number): readonly SharedCase[] {
  const fill = { low, high };
  return [
    { name: "no multiple of a vector", inputs: [{ dtype: "f32", shape: [3, 5, 7], fill }] },
    { name: "more than one workgroup", inputs: [{ dtype: "f32", shape: [1037], fill }] },
    { name: "scalar", inputs: [{ dtype: "f32", shape: [], fill }] },
    { name: "empty", inputs: [f32(3, 0, 2)] },
  ];
}

/** What they all refuse. */
export const unaryMistakes = (op: string): readonly WrongCase[] => [
  {
    name: "i32",
    inputs: [i32([2], [1, 2])],
    error: "DTypeError",
    message: new RegExp(`${op}: expected x in f32, got i32 \\[2\\]; cast it`),
  },
  { name: "bool", inputs: [tensor("bool", 2)], error: "DTypeError", message: /x in f32, got bool/ },
  { name: "quantised", inputs: [tensor("q8_0", 2, 32)], error: "DTypeError", message: /dequantise/ },
  { name: "an option", inputs: [f32(2)], params: { axis: 0 }, error: "ArgumentError", message: /options among \{\}, got axis/ },
];
