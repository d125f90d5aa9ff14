import { f32, type OpCases, rounding, tensor } from "../testing/opCases.ts";
import { quantizeGoldens } from "./goldens/quantize.ts";

export const quantize: OpCases<"quantize"> = {
  // Exact: the golden's digits are rounded.
  tolerance: { q8_0: rounding },
  cases: [
    ...quantizeGoldens,
    { name: "rows", inputs: [f32(5, 64)] },
    { name: "zeros", inputs: [{ dtype: "f32", shape: [32], values: new Array<number>(32).fill(0) }] },
    { name: "large", inputs: [{ dtype: "f32", shape: [2, 32], fill: { low: -1000, high: 1000 } }] },
    { name: "no rows", inputs: [f32(0, 32)] },
  ],
  wrong: [
    {
      name: "part of a block",
      inputs: [f32(2, 33)],
      error: "ShapeError",
      message: /x \[\.\.\., n\] with n a multiple of 32, got f32 \[2, 33\]; pad it/,
    },
    { name: "scalar", inputs: [f32()], error: "ShapeError", message: /multiple of 32/ },
    {
      name: "symbolic row",
      inputs: [{ dtype: "f32", shape: [{ name: "T", max: 32 }] }],
      error: "ShapeError",
      message: /the symbolic dim T/,
    },
    { name: "type", inputs: [f32(32)], params: { dtype: "q4_0" }, error: "ArgumentError", message: /dtype to be "q8_0", got "q4_0"/ },
    { name: "f16", inputs: [tensor("f16", 32)], error: "DTypeError", message: /x in f32, got f16/ },
  ],
};
