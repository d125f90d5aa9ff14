import type { QuantizedType } from "@centella/core/backend";
import { isQuantizable } from "@centella/quant";
import { quantizeGoldens } from "../goldens/quantize.ts";
import { blockTypes, f32, type OpCases, rounding, tensor } from "../opCases.ts";

const types = blockTypes.filter((type) => isQuantizable(type)) as readonly QuantizedType[];

export const quantize: OpCases<"quantize"> = {
  // Exact: the golden's digits are rounded.
  tolerance: Object.fromEntries(types.map((type) => [type, rounding])),
  cases: [
    ...quantizeGoldens,
    { name: "rows", inputs: [f32(5, 64)] },
    { name: "zeros", inputs: [{ dtype: "f32", shape: [32], values: new Array<number>(32).fill(0) }] },
    { name: "large", inputs: [{ dtype: "f32", shape: [2, 32], fill: { low: -1000, high: 1000 } }] },
    ...types.map((dtype) => ({ name: dtype, inputs: [f32(3, 512)], params: { dtype } })),
    ...types.map((dtype) => ({
      name: `zeros to ${dtype}`,
      inputs: [{ ...f32(256), values: new Array<number>(256).fill(0) }],
      params: { dtype },
    })),
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
    {
      name: "part of a long block",
      inputs: [f32(2, 32)],
      params: { dtype: "q4_K" },
      error: "ShapeError",
      message: /n a multiple of 256, got f32 \[2, 32\]/,
    },
    {
      name: "a type that needs an importance matrix",
      inputs: [f32(256)],
      params: { dtype: "iq2_xxs" },
      error: "ArgumentError",
      message: /dtype to be a block type that has a quantiser, got "iq2_xxs"/,
    },
    { name: "plain type", inputs: [f32(32)], params: { dtype: "f16" }, error: "ArgumentError", message: /a block type.*got "f16"; .*cast/ },
    { name: "no type", inputs: [f32(32)], params: { dtype: 8 }, error: "ArgumentError", message: /a block type.*got 8/ },
    { name: "f16", inputs: [tensor("f16", 32)], error: "DTypeError", message: /x in f32, got f16/ },
  ],
};
