import { geluGoldens } from "../goldens/gelu.ts";
import { f32, i32, type OpCases, tensor } from "../opCases.ts";

export const gelu: OpCases<"gelu"> = {
  // 1 + tanh(u) cancels for negative x, where y is as small as the rounding of 1 times x.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...geluGoldens,
    { name: "no multiple of a vector", inputs: [f32(3, 5, 7)] },
    { name: "more than one workgroup", inputs: [{ dtype: "f32", shape: [1037], fill: { low: -6, high: 6 } }] },
    { name: "scalar", inputs: [f32()] },
    { name: "empty", inputs: [f32(3, 0, 2)] },
    { name: "large", inputs: [{ dtype: "f32", shape: [6], values: [8, 50, 1e4, -8, -50, -1e4] }] },
  ],
  wrong: [
    { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /gelu: expected x in f32, got i32 \[2\]; cast it/ },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32)], error: "DTypeError", message: /dequantise/ },
  ],
};
