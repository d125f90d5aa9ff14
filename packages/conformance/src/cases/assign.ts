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
    { name: "f16", inputs: [tensor("f16", 3), tensor("f16", 3)], error: "DTypeError", message: /target in f32 or i32/ },
    { name: "temporary", inputs: [f32(3), f32(3)], error: "ProgramError", message: /target to be a persistent/ },
  ],
};
