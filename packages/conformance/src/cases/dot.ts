import { dotGoldens } from "../goldens/dot.ts";
import { f32, type OpCases, tensor } from "../opCases.ts";

export const dot: OpCases<"dot"> = {
  // f32 sums of up to 1037 products of size 1, in any order.
  tolerance: { f32: { rtol: 1e-5, atol: 2e-5 } },
  cases: [
    ...dotGoldens,
    { name: "no multiple of a vector", inputs: [f32(67), f32(67)] },
    { name: "more than one workgroup", inputs: [f32(1037), f32(1037)] },
    { name: "one", inputs: [f32(1), f32(1)] },
    // Sums of 20,000 products of size 1 in any order.
    { name: "long", inputs: [f32(20011), f32(20011)], tolerance: { rtol: 1e-5, atol: 5e-4 } },
    { name: "empty", inputs: [f32(0), f32(0)] },
  ],
  wrong: [
    { name: "lengths", inputs: [f32(3), f32(4)], error: "ShapeError", message: /dot: expected b \[3\], got f32 \[4\]/ },
    { name: "rank", inputs: [f32(3, 1), f32(3)], error: "ShapeError", message: /a \[n\]/ },
    { name: "dtype", inputs: [f32(3), tensor("f16", 3)], error: "DTypeError", message: /b in f32, got f16/ },
  ],
};
