import { ssmConvWriteGoldens } from "../goldens/ssmConvWrite.ts";
import { exact, f32, i32, type OpCases } from "../opCases.ts";

export const ssmConvWrite: OpCases<"ssmConvWrite"> = {
  tolerance: { f32: exact },
  cases: [
    ...ssmConvWriteGoldens,
    { name: "one token", inputs: [f32(2, 3, 37), f32(1, 37), i32([1], [5]), i32([1], [1])] },
    { name: "one token near the start", inputs: [f32(2, 3, 16), f32(1, 16), i32([1], [1]), i32([1], [0])] },
    { name: "the first token", inputs: [f32(2, 2, 16), f32(1, 16), i32([1], [0]), i32([1], [1])] },
    { name: "one token of each of three sequences", inputs: [f32(3, 3, 8), f32(3, 8), i32([3], [7, 0, 2]), i32([3], [2, 0, 1])] },
    { name: "no tokens", inputs: [f32(1, 3, 8), f32(0, 8), i32([0], []), i32([0], [])] },
  ],
  wrong: [
    {
      name: "channels",
      inputs: [f32(1, 3, 8), f32(2, 9), i32([2], [0, 1]), i32([2], [0, 0])],
      error: "ShapeError",
      message: /x \[2, 8\], got f32 \[2, 9\]/,
    },
    {
      name: "temporary",
      inputs: [f32(1, 3, 8), f32(2, 8), i32([2], [0, 1]), i32([2], [0, 0])],
      error: "ProgramError",
      message: /state to be a persistent, got a temporary/,
    },
  ],
};
