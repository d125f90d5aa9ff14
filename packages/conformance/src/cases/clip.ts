import { clipGoldens } from "../goldens/clip.ts";
import { exact, f32, i32, type OpCases, tensor } from "../opCases.ts";

export const clip: OpCases<"clip"> = {
  tolerance: { f32: exact },
  cases: [
    ...clipGoldens,
    { name: "no multiple of a vector", inputs: [f32(3, 5, 7)], params: { min: -0.5, max: 0.25 } },
    {
      name: "more than one workgroup",
      inputs: [{ dtype: "f32", shape: [1037], fill: { low: -6, high: 6 } }],
      params: { min: -0.5, max: 0.25 },
    },
    { name: "scalar", inputs: [f32()], params: { min: -0.5, max: 0.25 } },
    { name: "empty", inputs: [f32(3, 0, 2)], params: { min: -0.5, max: 0.25 } },
    { name: "NaN, infinities, denormals", inputs: [{ dtype: "f32", shape: [64], fill: "special" }], params: { min: -0.5, max: 0.25 } },
    { name: "one bound", inputs: [f32(9)], params: { min: 0, max: Number.POSITIVE_INFINITY } },
  ],
  wrong: [
    {
      name: "i32",
      inputs: [i32([2], [1, 2])],
      params: { min: -0.5, max: 0.25 },
      error: "DTypeError",
      message: /clip: expected x in f32, got i32 \[2\]; cast it/,
    },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32)], params: { min: -0.5, max: 0.25 }, error: "DTypeError", message: /dequantise/ },
    { name: "no max", inputs: [f32(2)], params: { min: 0 }, error: "ArgumentError", message: /option max, got none/ },
    { name: "swapped", inputs: [f32(2)], params: { min: 1, max: 0 }, error: "ArgumentError", message: /swap them/ },
    {
      name: "NaN bound",
      inputs: [f32(2)],
      params: { min: Number.NaN, max: 0 },
      error: "ArgumentError",
      message: /min to be a number, got NaN/,
    },
  ],
};
