import { whereGoldens } from "../goldens/where.ts";
import { bool, exact, f32, type OpCases, tensor } from "../opCases.ts";

export const where: OpCases<"where"> = {
  tolerance: { f32: exact, f16: exact, i32: exact, u8: exact, bool: exact },
  cases: [
    ...whereGoldens,
    { name: "more than one workgroup", inputs: [tensor("bool", 1037), f32(1037), f32(1037)] },
    { name: "rows of two", inputs: [tensor("bool", 9, 1), f32(9, 13), f32(13)] },
    { name: "scalar branch", inputs: [tensor("bool", 5, 6), f32(5, 6), f32()] },
    { name: "i32", inputs: [tensor("bool", 33), tensor("i32", 33), tensor("i32", 1)] },
    { name: "f16", inputs: [tensor("bool", 33), tensor("f16", 33), tensor("f16", 33)] },
    { name: "bool", inputs: [tensor("bool", 33), tensor("bool", 33), tensor("bool", 33)] },
    { name: "all scalars", inputs: [bool([], [1]), f32(), f32()] },
    { name: "empty", inputs: [tensor("bool", 0, 4), f32(4), f32()] },
    {
      name: "NaN in the branch not taken",
      inputs: [
        bool([2], [1, 0]),
        { dtype: "f32", shape: [2], values: [1, Number.NaN] },
        { dtype: "f32", shape: [2], values: [Number.NaN, 2] },
      ],
    },
  ],
  wrong: [
    { name: "condition", inputs: [f32(2), f32(2), f32(2)], error: "DTypeError", message: /condition in bool, got f32 \[2\]; cast it/ },
    { name: "mixed", inputs: [tensor("bool", 2), f32(2), tensor("i32", 2)], error: "DTypeError", message: /one dtype, got f32 and i32/ },
    { name: "quantised", inputs: [tensor("bool", 32), tensor("q8_0", 32), tensor("q8_0", 32)], error: "DTypeError", message: /dequantise/ },
    { name: "shapes", inputs: [tensor("bool", 3), f32(2), f32(2)], error: "ShapeError", message: /shapes that broadcast/ },
  ],
};
