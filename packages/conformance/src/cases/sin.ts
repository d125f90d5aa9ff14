import { sinGoldens } from "../goldens/sin.ts";
import { f32, i32, type OpCases, tensor } from "../opCases.ts";

export const sin: OpCases<"sin"> = {
  // Arguments up to 100: f32 arithmetic reduces them with an error of at most one ulp of the argument.
  tolerance: { f32: { rtol: 1e-5, atol: 2e-6 } },
  cases: [
    ...sinGoldens,
    { name: "no multiple of a vector", inputs: [{ dtype: "f32", shape: [3, 5, 7], fill: { low: -100, high: 100 } }] },
    { name: "more than one workgroup", inputs: [{ dtype: "f32", shape: [1037], fill: { low: -100, high: 100 } }] },
    { name: "scalar", inputs: [{ dtype: "f32", shape: [], fill: { low: -100, high: 100 } }] },
    { name: "empty", inputs: [f32(3, 0, 2)] },
    {
      name: "edges",
      inputs: [{ dtype: "f32", shape: [6], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 1000, -1000] }],
    },
  ],
  wrong: [
    { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /sin: expected x in f32, got i32 \[2\]; cast it/ },
    { name: "bool", inputs: [tensor("bool", 2)], error: "DTypeError", message: /x in f32, got bool/ },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32)], error: "DTypeError", message: /dequantise/ },
    { name: "an option", inputs: [f32(2)], params: { axis: 0 }, error: "ArgumentError", message: /options among \{\}, got axis/ },
  ],
};
