import { moeWeightsGoldens } from "../goldens/moeWeights.ts";
import { f32, i32, type OpCases, tensor } from "../opCases.ts";

export const moeWeights: OpCases<"moeWeights"> = {
  // An exponential within 2 ulp, a sum of up to 130 of them, one division.
  tolerance: { f32: { rtol: 5e-6, atol: 1e-7 } },
  cases: [
    ...moeWeightsGoldens,
    { name: "many experts", inputs: [f32(3, 130), i32([3, 4], [0, 129, 3, 64, 7, 8, 9, 10, 1, 2, 3, 4])], params: { normalize: true } },
    {
      name: "nothing to divide by",
      inputs: [{ ...f32(1, 3), values: [-90, -95, -100] }, i32([1, 2], [0, 1])],
      params: { gating: "sigmoid", normalize: true },
    },
    { name: "large logits", inputs: [{ ...f32(1, 3), values: [1000, 999, -1000] }, i32([1, 3], [0, 1, 2])] },
    { name: "no tokens", inputs: [f32(0, 4), i32([0, 2], [])] },
  ],
  wrong: [
    { name: "tokens", inputs: [f32(2, 3), i32([3, 1], [0, 1, 2])], error: "ShapeError", message: /ids \[2, 1\], got i32 \[3, 1\]/ },
    { name: "ids", inputs: [f32(2, 3), f32(2, 1)], error: "DTypeError", message: /ids in i32/ },
    { name: "logits", inputs: [tensor("f16", 2, 3), i32([2, 1], [0, 1])], error: "DTypeError", message: /logits in f32/ },
    { name: "rank", inputs: [f32(3), i32([1], [0])], error: "ShapeError", message: /logits \[T, E\]/ },
    {
      name: "scale",
      inputs: [f32(2, 3), i32([2, 1], [0, 1])],
      params: { scale: Number.NaN },
      error: "ArgumentError",
      message: /scale to be a finite number/,
    },
    {
      name: "normalize",
      inputs: [f32(2, 3), i32([2, 1], [0, 1])],
      params: { normalize: 1 },
      error: "ArgumentError",
      message: /normalize to be true or false/,
    },
  ],
};
