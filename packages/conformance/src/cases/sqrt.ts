import { sqrtGoldens } from "../goldens/sqrt.ts";
import { f32, i32, type OpCases, tensor } from "../opCases.ts";

export const sqrt: OpCases<"sqrt"> = {
  // WGSL derives the root from an inverse root of 2 ulp.
  tolerance: { f32: { rtol: 1e-6, atol: 1e-7 } },
  cases: [
    ...sqrtGoldens,
    { name: "no multiple of a vector", inputs: [{ dtype: "f32", shape: [3, 5, 7], fill: { low: 0, high: 60 } }] },
    { name: "more than one workgroup", inputs: [{ dtype: "f32", shape: [1037], fill: { low: 0, high: 60 } }] },
    { name: "scalar", inputs: [{ dtype: "f32", shape: [], fill: { low: 0, high: 60 } }] },
    { name: "empty", inputs: [f32(3, 0, 2)] },
    {
      name: "edges",
      inputs: [{ dtype: "f32", shape: [8], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0, -1, 4, 3e38] }],
    },
  ],
  wrong: [
    { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /sqrt: expected x in f32, got i32 \[2\]; cast it/ },
    { name: "bool", inputs: [tensor("bool", 2)], error: "DTypeError", message: /x in f32, got bool/ },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32)], error: "DTypeError", message: /dequantise/ },
    { name: "an option", inputs: [f32(2)], params: { axis: 0 }, error: "ArgumentError", message: /options among \{\}, got axis/ },
  ],
};
