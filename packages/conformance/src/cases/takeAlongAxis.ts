import { takeAlongAxisGoldens } from "../goldens/takeAlongAxis.ts";
import { exact, f32, i32, type OpCases, tensor } from "../opCases.ts";

export const takeAlongAxis: OpCases<"takeAlongAxis"> = {
  tolerance: { f32: exact, f16: exact, bf16: exact, i32: exact, u32: exact, i8: exact, u8: exact, bool: exact },
  cases: [
    ...takeAlongAxisGoldens,
    { name: "more than there is", inputs: [f32(2, 3), i32([2, 5], [0, 2, 1, 0, 0, 2, 2, 2, 1, 0])] },
    { name: "one line", inputs: [f32(67), i32([3], [66, 0, 66])], params: { axis: 0 } },
    { name: "no index", inputs: [f32(4, 3), i32([4, 0], [])] },
    { name: "no line", inputs: [f32(0, 3), i32([0, 2], [])] },
    { name: "f16", inputs: [tensor("f16", 2, 2), i32([2, 1], [1, 0])] },
    { name: "bool", inputs: [tensor("bool", 3), i32([2], [2, 0])] },
    { name: "i32", inputs: [tensor("i32", 3, 2), i32([1, 2], [2, 0])], params: { axis: 0 } },
  ],
  wrong: [
    {
      name: "shape beside the axis",
      inputs: [f32(2, 3), i32([1, 3], [0, 0, 0])],
      error: "ShapeError",
      message: /indices with the extents of x except on axis 1, got i32 \[1, 3\] for f32 \[2, 3\]; expand them/,
    },
    { name: "rank", inputs: [f32(2, 3), i32([2], [0, 0])], error: "ShapeError", message: /extents of x except on axis 1, got i32 \[2\]/ },
    { name: "axis", inputs: [f32(2), i32([1], [0])], params: { axis: 1 }, error: "ArgumentError", message: /from -1 to 0, got 1/ },
    { name: "scalar", inputs: [f32(), i32([], [0])], error: "ShapeError", message: /a scalar has no axes/ },
    { name: "f32 indices", inputs: [f32(2), f32(2)], error: "DTypeError", message: /indices in i32, got f32 \[2\]; cast it/ },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32), i32([2, 1], [0, 0])], error: "DTypeError", message: /dequantise/ },
  ],
};
