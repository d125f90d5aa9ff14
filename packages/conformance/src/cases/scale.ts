import { scaleGoldens } from "../goldens/scale.ts";
import { f32, i32, type OpCases, rounding, tensor } from "../opCases.ts";

export const scale: OpCases<"scale"> = {
  tolerance: { f32: rounding },
  cases: [
    ...scaleGoldens,
    { name: "no multiple of a vector", inputs: [f32(3, 5, 7)], params: { by: 0.37 } },
    { name: "more than one workgroup", inputs: [{ dtype: "f32", shape: [1037], fill: { low: -6, high: 6 } }], params: { by: 0.37 } },
    { name: "scalar", inputs: [f32()], params: { by: 0.37 } },
    { name: "empty", inputs: [f32(3, 0, 2)], params: { by: 0.37 } },
    { name: "NaN, infinities, denormals", inputs: [{ dtype: "f32", shape: [64], fill: "special" }], params: { by: 0.37 } },
  ],
  wrong: [
    {
      name: "i32",
      inputs: [i32([2], [1, 2])],
      params: { by: 0.37 },
      error: "DTypeError",
      message: /scale: expected x in f32, got i32 \[2\]; cast it/,
    },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32)], params: { by: 0.37 }, error: "DTypeError", message: /dequantise/ },
    { name: "no factor", inputs: [f32(2)], error: "ArgumentError", message: /option by, got none; pass \{ by: … \}/ },
    { name: "infinite factor", inputs: [f32(2)], params: { by: Number.POSITIVE_INFINITY }, error: "ArgumentError", message: /finite/ },
    {
      name: "unknown option",
      inputs: [f32(2)],
      params: { by: 1, factor: 2 },
      error: "ArgumentError",
      message: /options among \{by\}, got factor; check the spelling/,
    },
  ],
};
