import { stackGoldens } from "../goldens/stack.ts";
import { exact, f32, type OpCases, tensor } from "../opCases.ts";

export const stack: OpCases<"stack"> = {
  tolerance: { f32: exact, f16: exact, bf16: exact, i32: exact, u32: exact, i8: exact, u8: exact, bool: exact },
  cases: [
    ...stackGoldens,
    { name: "aligned rows", inputs: [f32(3, 8), f32(3, 8)], params: { axis: 1 } },
    { name: "aligned halves", inputs: [tensor("f16", 3, 8), tensor("f16", 3, 8), tensor("f16", 3, 8)], params: { axis: 1 } },
    { name: "rows", inputs: [f32(67), f32(67)] },
    { name: "pairs", inputs: [f32(9, 13), f32(9, 13)], params: { axis: -1 } },
    { name: "middle", inputs: [f32(3, 4), f32(3, 4)], params: { axis: 1 } },
    { name: "scalars", inputs: [f32(), f32()] },
    { name: "empty", inputs: [f32(3, 0), f32(3, 0)] },
    { name: "one", inputs: [f32(3, 4)], params: { axis: 1 } },
    { name: "ten", inputs: Array.from({ length: 10 }, () => f32(3, 5)), params: { axis: 1 } },
    { name: "twelve f16", inputs: Array.from({ length: 12 }, () => tensor("f16", 3, 5)), params: { axis: -1 } },
    { name: "nine u8", inputs: Array.from({ length: 9 }, () => tensor("u8", 3)) },
    { name: "u8", inputs: [tensor("u8", 3), tensor("u8", 3)] },
  ],
  wrong: [
    { name: "shapes", inputs: [f32(2, 3), f32(2, 4)], error: "ShapeError", message: /tensors\[1\] \[2, 3\], got f32 \[2, 4\]/ },
    { name: "none", inputs: [], error: "ArgumentError", message: /at least one of tensors, got none/ },
    { name: "third shape", inputs: [f32(2), f32(2), f32(3)], error: "ShapeError", message: /tensors\[2\] \[2\], got f32 \[3\]/ },
    { name: "mixed", inputs: [f32(2), tensor("i32", 2)], error: "DTypeError", message: /one dtype, got f32 and i32/ },
    { name: "axis", inputs: [f32(2), f32(2)], params: { axis: 2 }, error: "ArgumentError", message: /from -2 to 1, got 2/ },
    { name: "quantised", inputs: [tensor("q8_0", 32), tensor("q8_0", 32)], error: "DTypeError", message: /dequantise/ },
  ],
};
