import { siluGoldens } from "../goldens/silu.ts";
import { f32, i32, type OpCases, tensor } from "../opCases.ts";

export const silu: OpCases<"silu"> = {
  // exp of f32 kernels is off by a few ulp; GPUs flush results below 1e-38 to 0.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...siluGoldens,
    { name: "no multiple of a vector", inputs: [f32(3, 5, 7)] },
    { name: "more than one workgroup", inputs: [{ dtype: "f32", shape: [1037], fill: { low: -6, high: 6 } }] },
    { name: "scalar", inputs: [f32()] },
    { name: "empty", inputs: [f32(3, 0, 2)] },
    { name: "large", inputs: [{ dtype: "f32", shape: [6], values: [80, 95, 1e4, -80, -95, -1e4] }] },
  ],
  wrong: [
    { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /silu: expected x in f32, got i32 \[2\]; cast it/ },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32)], error: "DTypeError", message: /dequantise/ },
  ],
};
