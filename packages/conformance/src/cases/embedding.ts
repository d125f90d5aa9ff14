import { embeddingGoldens } from "../goldens/embedding.ts";
import { blockTypes, exact, f32, i32, type OpCase, type OpCases, tensor } from "../opCases.ts";

const quantized: readonly OpCase<"embedding">[] = blockTypes.map((type) => ({
  name: `${type} table`,
  inputs: [tensor(type, 7, 512), i32([4], [6, 0, 3, 6])],
  // Scale and minimum are multiplied and added in f32: kernels may fuse the two.
  tolerance: { rtol: 1e-6, atol: 1e-6 },
}));

export const embedding: OpCases<"embedding"> = {
  // Rows are copied or decoded, not computed.
  tolerance: { f32: exact },
  cases: [
    ...embeddingGoldens,
    { name: "rows", inputs: [{ ...f32(37, 67), as: "persistent" }, i32([5], [36, 0, 0, 17, 3])] },
    { name: "of activations", inputs: [f32(9, 5), i32([3], [8, 0, 4])] },
    { name: "ids of rank 2", inputs: [f32(9, 5), i32([2, 2], [8, 0, 4, 4])] },
    { name: "one id", inputs: [f32(9, 5), i32([], [7])] },
    { name: "no ids", inputs: [f32(9, 5), i32([0], [])] },
    { name: "no columns", inputs: [f32(9, 0), i32([2], [1, 2])] },
    { name: "f16", inputs: [{ ...tensor("f16", 13, 33), as: "persistent" }, i32([3], [12, 0, 5])] },
    { name: "bf16", inputs: [{ ...tensor("bf16", 13, 33), as: "persistent" }, i32([3], [12, 0, 5])] },
    ...quantized,
  ],
  wrong: [
    { name: "f32 ids", inputs: [f32(9, 5), f32(2)], error: "DTypeError", message: /ids in i32, got f32/ },
    { name: "i32 table", inputs: [tensor("i32", 9, 5), i32([1], [0])], error: "DTypeError", message: /table in f32 or f16/ },
    { name: "rank", inputs: [f32(9), i32([1], [0])], error: "ShapeError", message: /table \[V, d\]/ },
  ],
};
