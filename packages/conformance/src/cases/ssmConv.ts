import { ssmConvGoldens } from "../goldens/ssmConv.ts";
import { f32, i32, type OpCases, tensor } from "../opCases.ts";

export const ssmConv: OpCases<"ssmConv"> = {
  // f32 sums of four products.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...ssmConvGoldens,
    { name: "one token", inputs: [f32(1, 37), f32(37, 4), f32(2, 3, 37), i32([1], [5]), i32([1], [1])] },
    { name: "one token near the start", inputs: [f32(1, 16), f32(16, 4), f32(2, 3, 16), i32([1], [1]), i32([1], [0])] },
    { name: "three taps", inputs: [f32(5, 8), f32(8, 3), f32(1, 2, 8), i32([5], [0, 1, 2, 3, 4]), i32([5], [0, 0, 0, 0, 0])] },
    {
      name: "one token of each of three sequences",
      inputs: [f32(3, 8), f32(8, 4), f32(3, 3, 8), i32([3], [7, 0, 2]), i32([3], [2, 0, 1])],
    },
    { name: "no tokens", inputs: [f32(0, 8), f32(8, 4), f32(1, 3, 8), i32([0], []), i32([0], [])] },
  ],
  wrong: [
    {
      name: "state",
      inputs: [f32(2, 8), f32(8, 4), f32(1, 4, 8), i32([2], [0, 1]), i32([2], [0, 0])],
      error: "ShapeError",
      message: /state \[1, 3, 8\], got f32 \[1, 4, 8\]/,
    },
    {
      name: "one tap",
      inputs: [f32(2, 8), f32(8, 1), f32(1, 0, 8), i32([2], [0, 1]), i32([2], [0, 0])],
      error: "ShapeError",
      message: /filter \[C, K\] with K from 2/,
    },
    {
      name: "rows",
      inputs: [f32(2, 8), f32(8, 4), f32(1, 3, 8), i32([2], [0, 1]), i32([1], [0])],
      error: "ShapeError",
      message: /rows \[2\], got i32 \[1\]/,
    },
    {
      name: "f16",
      inputs: [tensor("f16", 2, 8), f32(8, 4), f32(1, 3, 8), i32([2], [0, 1]), i32([2], [0, 0])],
      error: "DTypeError",
      message: /x in f32, got f16/,
    },
  ],
};
