import { bool, f32, type SharedCase, tensor, type WrongCase } from "../../opCases.ts";

/** Cases of the ops on two tensors of bools. */
export const logicCases: readonly SharedCase[] = [
  { name: "row", inputs: [tensor("bool", 9, 13), tensor("bool", 13)] },
  { name: "outer", inputs: [tensor("bool", 7, 1), tensor("bool", 1, 5)] },
  { name: "scalar", inputs: [tensor("bool", 33), bool([], [1])] },
  { name: "empty", inputs: [tensor("bool", 0), tensor("bool", 1)] },
  { name: "bytes above 1 are true", inputs: [bool([4], [2, 0, 255, 0]), bool([4], [1, 2, 0, 0])] },
];

/** What they all refuse. */
export const logicMistakes: readonly WrongCase[] = [
  { name: "shapes", inputs: [tensor("bool", 2, 3), tensor("bool", 2)], error: "ShapeError", message: /shapes that broadcast/ },
  { name: "f32", inputs: [f32(2), f32(2)], error: "DTypeError", message: /a in bool, got f32 \[2\]; cast it/ },
  { name: "mixed", inputs: [tensor("bool", 2), f32(2)], error: "DTypeError", message: /one dtype, got bool and f32/ },
];
