import { eluGoldens } from "../goldens/elu.ts";
import { f32, i32, type OpCases, tensor } from "../opCases.ts";

export const elu: OpCases<"elu"> = {
  // Kernels may form exp(x) - 1, which cancels near 0: 1 ulp of 1 is 6e-8.
  tolerance: { f32: { rtol: 1e-5, atol: 5e-7 } },
  cases: [
    ...eluGoldens,
    { name: "no multiple of a vector", inputs: [f32(3, 5, 7)] },
    { name: "more than one workgroup", inputs: [{ dtype: "f32", shape: [1037], fill: { low: -6, high: 6 } }] },
    { name: "scalar", inputs: [f32()] },
    { name: "empty", inputs: [f32(3, 0, 2)] },
    { name: "NaN, infinities, denormals", inputs: [{ dtype: "f32", shape: [64], fill: "special" }] },
  ],
  wrong: [
    { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /elu: expected x in f32, got i32 \[2\]; cast it/ },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32)], error: "DTypeError", message: /dequantise/ },
    {
      name: "text for alpha",
      inputs: [f32(2)],
      params: { alpha: "1" },
      error: "ArgumentError",
      message: /alpha to be a finite number, got "1"/,
    },
  ],
};
