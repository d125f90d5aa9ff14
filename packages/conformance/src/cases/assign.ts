import { assignGoldens } from "../goldens/assign.ts";
import { exact, f32, i32, type OpCases, tensor } from "../opCases.ts";

export const assign: OpCases<"assign"> = {
  tolerance: { f32: exact, i32: exact },
  cases: [
    ...assignGoldens,
    { name: "f32", inputs: [f32(3, 67), f32(3, 67)] },
    { name: "i32", inputs: [tensor("i32", 5), tensor("i32", 5)] },
    { name: "scalar", inputs: [tensor("i32"), tensor("i32")] },
    { name: "constant", inputs: [f32(3), { ...f32(3), as: "constant" }] },
    { name: "rows", inputs: [f32(9, 13), f32(4, 13)], optional: { indices: i32([4], [8, 0, -1, 3]) } },
    { name: "single values", inputs: [tensor("i32", 67), tensor("i32", 3)], optional: { indices: i32([3], [66, -1, 0]) } },
    { name: "rows of planes", inputs: [f32(3, 4, 5), f32(2, 4, 5)], optional: { indices: i32([2], [2, 0]) } },
    { name: "aligned rows", inputs: [f32(9, 12), f32(4, 12)], optional: { indices: i32([4], [8, 0, -1, 3]) } },
    { name: "no rows", inputs: [f32(3, 2), f32(0, 2)], optional: { indices: i32([0], []) } },
    { name: "empty", inputs: [f32(0), f32(0)] },
  ],
  wrong: [
    { name: "shape", inputs: [f32(3), f32(1)], error: "ShapeError", message: /value \[3\], got f32 \[1\]/ },
    {
      name: "dtype",
      inputs: [f32(3), i32([3], [1, 2, 3])],
      error: "DTypeError",
      message: /value in f32 as the target, got i32; cast the value/,
    },
    {
      name: "rows of another width",
      inputs: [f32(3, 2), f32(1, 3)],
      optional: { indices: i32([1], [0]) },
      error: "ShapeError",
      message: /value \[1, 2\], got f32 \[1, 3\]/,
    },
    { name: "rows of a scalar", inputs: [f32(), f32()], optional: { indices: i32([1], [0]) }, error: "ShapeError", message: /no axes/ },
    { name: "f32 indices", inputs: [f32(2), f32(1)], optional: { indices: f32(1) }, error: "DTypeError", message: /indices in i32/ },
    { name: "f16", inputs: [tensor("f16", 3), tensor("f16", 3)], error: "DTypeError", message: /target in f32 or i32/ },
    { name: "temporary", inputs: [f32(3), f32(3)], error: "ProgramError", message: /target to be a persistent/ },
  ],
};
