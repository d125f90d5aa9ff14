import { kvWriteGoldens } from "../goldens/kvWrite.ts";
import { exact, f32, i32, type OpCases, tensor } from "../opCases.ts";

export const kvWrite: OpCases<"kvWrite"> = {
  // Copies; f16 is rounded to nearest even everywhere. q8_0 quantises as ggml does, where an exact tie may fall to either side.
  tolerance: { f32: exact, f16: exact, q8_0: { rtol: 0, atol: 1e-2 } },
  cases: [
    ...kvWriteGoldens,
    { name: "f32", inputs: [f32(9, 2, 12), f32(3, 2, 8), f32(3, 2, 4), i32([3], [8, 0, 5])] },
    { name: "f16", inputs: [tensor("f16", 9, 2, 12), f32(3, 2, 8), f32(3, 2, 4), i32([3], [8, 0, 5])] },
    { name: "f16, odd sizes", inputs: [tensor("f16", 5, 3, 7), f32(2, 3, 3), f32(2, 3, 4), i32([2], [1, 4])] },
    { name: "q8_0", inputs: [tensor("q8_0", 5, 2, 64), f32(2, 2, 32), f32(2, 2, 32), i32([2], [1, 4])] },
    { name: "no tokens", inputs: [f32(4, 2, 5), f32(0, 2, 3), f32(0, 2, 2), i32([0], [])] },
    { name: "one token", inputs: [f32(4, 1, 16), f32(1, 1, 8), f32(1, 1, 8), i32([1], [2])] },
  ],
  wrong: [
    {
      name: "sizes",
      inputs: [f32(9, 2, 12), f32(3, 2, 8), f32(3, 2, 5), i32([3], [0, 1, 2])],
      error: "ShapeError",
      message: /cache \[S, Hkv, dK \+ dV = 13\], got f32 \[9, 2, 12\]/,
    },
    {
      name: "heads",
      inputs: [f32(9, 2, 12), f32(3, 1, 8), f32(3, 1, 4), i32([3], [0, 1, 2])],
      error: "ShapeError",
      message: /k \[3, 2, 8\]/,
    },
    {
      name: "tokens of v",
      inputs: [f32(9, 2, 12), f32(3, 2, 8), f32(2, 2, 4), i32([3], [0, 1, 2])],
      error: "ShapeError",
      message: /v \[3, 2, 4\]/,
    },
    {
      name: "number of slots",
      inputs: [f32(9, 2, 12), f32(3, 2, 8), f32(3, 2, 4), i32([2], [0, 1])],
      error: "ShapeError",
      message: /slots \[3\], got i32 \[2\]/,
    },
    { name: "f32 slots", inputs: [f32(9, 2, 12), f32(3, 2, 8), f32(3, 2, 4), f32(3)], error: "DTypeError", message: /slots in i32/ },
    {
      name: "cache dtype",
      inputs: [tensor("bf16", 9, 2, 12), f32(3, 2, 8), f32(3, 2, 4), i32([3], [0, 1, 2])],
      error: "DTypeError",
      message: /cache in f32 or f16 or q8_0, got bf16/,
    },
    {
      name: "f16 keys",
      inputs: [f32(9, 2, 12), tensor("f16", 3, 2, 8), f32(3, 2, 4), i32([3], [0, 1, 2])],
      error: "DTypeError",
      message: /k in f32/,
    },
    {
      name: "temporary",
      inputs: [f32(9, 2, 12), f32(3, 2, 8), f32(3, 2, 4), i32([3], [0, 1, 2])],
      error: "ProgramError",
      message: /cache to be a persistent, got a temporary; declare it with persistent/,
    },
  ],
};
