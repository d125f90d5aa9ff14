import { tanGoldens } from "../goldens/tan.ts";
import { f32, i32, type OpCases, tensor } from "../opCases.ts";

export const tan: OpCases<"tan"> = {
  // A quotient of sine and cosine, each good to 1e-6; the fill stays away from the poles.
  tolerance: { f32: { rtol: 2e-5, atol: 2e-6 } },
  cases: [
    ...tanGoldens,
    { name: "no multiple of a vector", inputs: [{ dtype: "f32", shape: [3, 5, 7], fill: { low: -1.4, high: 1.4 } }] },
    { name: "more than one workgroup", inputs: [{ dtype: "f32", shape: [1037], fill: { low: -1.4, high: 1.4 } }] },
    { name: "scalar", inputs: [{ dtype: "f32", shape: [], fill: { low: -1.4, high: 1.4 } }] },
    { name: "empty", inputs: [f32(3, 0, 2)] },
    {
      name: "edges",
      inputs: [{ dtype: "f32", shape: [6], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 3, -4] }],
    },
  ],
  wrong: [
    { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /tan: expected x in f32, got i32 \[2\]; cast it/ },
    { name: "bool", inputs: [tensor("bool", 2)], error: "DTypeError", message: /x in f32, got bool/ },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32)], error: "DTypeError", message: /dequantise/ },
    { name: "an option", inputs: [f32(2)], params: { axis: 0 }, error: "ArgumentError", message: /options among \{\}, got axis/ },
  ],
};
