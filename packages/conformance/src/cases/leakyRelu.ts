import { leakyReluGoldens } from "../goldens/leakyRelu.ts";
import { f32, i32, type OpCases, rounding, tensor } from "../opCases.ts";

export const leakyRelu: OpCases<"leakyRelu"> = {
  tolerance: { f32: rounding },
  cases: [
    ...leakyReluGoldens,
    { name: "no multiple of a vector", inputs: [f32(3, 5, 7)] },
    { name: "more than one workgroup", inputs: [{ dtype: "f32", shape: [1037], fill: { low: -6, high: 6 } }] },
    { name: "scalar", inputs: [f32()] },
    { name: "empty", inputs: [f32(3, 0, 2)] },
    { name: "NaN, infinities, denormals", inputs: [{ dtype: "f32", shape: [64], fill: "special" }] },
  ],
  wrong: [
    { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /leakyRelu: expected x in f32, got i32 \[2\]; cast it/ },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32)], error: "DTypeError", message: /dequantise/ },
    {
      name: "NaN slope",
      inputs: [f32(2)],
      params: { slope: Number.NaN },
      error: "ArgumentError",
      message: /slope to be a finite number, got NaN/,
    },
  ],
};
