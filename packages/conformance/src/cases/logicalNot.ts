import { logicalNotGoldens } from "../goldens/logicalNot.ts";
import { bool, exact, f32, type OpCases, tensor } from "../opCases.ts";

export const logicalNot: OpCases<"logicalNot"> = {
  tolerance: { bool: exact },
  cases: [
    ...logicalNotGoldens,
    { name: "matrix", inputs: [tensor("bool", 9, 13)] },
    { name: "scalar", inputs: [bool([], [0])] },
    { name: "empty", inputs: [tensor("bool", 0)] },
    { name: "bytes above 1 are true", inputs: [bool([3], [2, 0, 255])] },
  ],
  wrong: [
    { name: "f32", inputs: [f32(2)], error: "DTypeError", message: /logicalNot: expected x in bool, got f32 \[2\]; cast it/ },
    { name: "u8", inputs: [tensor("u8", 2)], error: "DTypeError", message: /x in bool, got u8/ },
  ],
};
