import { gatherGoldens } from "../goldens/gather.ts";
import { exact, f32, i32, type OpCases, tensor } from "../opCases.ts";

export const gather: OpCases<"gather"> = {
  tolerance: { f32: exact, f16: exact, bf16: exact, i32: exact, u32: exact, i8: exact, u8: exact, bool: exact },
  cases: [
    ...gatherGoldens,
    { name: "rows", inputs: [f32(9, 13), i32([4], [8, 0, 3, 3])] },
    { name: "columns", inputs: [f32(9, 13), i32([2, 2], [12, 0, 5, 5])], params: { axis: -1 } },
    { name: "middle", inputs: [f32(2, 5, 3), i32([3], [4, 4, 0])], params: { axis: 1 } },
    { name: "one", inputs: [f32(67), i32([], [66])] },
    { name: "no index", inputs: [f32(4, 3), i32([0], [])] },
    { name: "empty rows", inputs: [f32(4, 0), i32([2], [1, 3])] },
    { name: "f16", inputs: [tensor("f16", 5, 3), i32([2], [4, 1])] },
    { name: "bool", inputs: [tensor("bool", 5), i32([2], [4, 1])] },
  ],
  wrong: [
    { name: "axis", inputs: [f32(2), i32([1], [0])], params: { axis: 1 }, error: "ArgumentError", message: /from -1 to 0, got 1/ },
    { name: "scalar", inputs: [f32(), i32([1], [0])], error: "ShapeError", message: /a scalar has no axes/ },
    { name: "f32 indices", inputs: [f32(2), f32(1)], error: "DTypeError", message: /indices in i32, got f32 \[1\]; cast it/ },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32), i32([1], [0])], error: "DTypeError", message: /dequantise/ },
  ],
};
