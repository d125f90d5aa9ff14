import { geluErfGoldens } from "../goldens/geluErf.ts";
import { f32, i32, type OpCases, tensor } from "../opCases.ts";

export const geluErf: OpCases<"geluErf"> = {
  // 1 + erf(u) cancels for negative x; kernels may use a polynomial for erf that is good to 1.5e-7.
  tolerance: { f32: { rtol: 1e-5, atol: 2e-6 } },
  cases: [
    ...geluErfGoldens,
    { name: "no multiple of a vector", inputs: [{ dtype: "f32", shape: [3, 5, 7], fill: { low: -6, high: 6 } }] },
    { name: "more than one workgroup", inputs: [{ dtype: "f32", shape: [1037], fill: { low: -6, high: 6 } }] },
    { name: "scalar", inputs: [{ dtype: "f32", shape: [], fill: { low: -6, high: 6 } }] },
    { name: "empty", inputs: [f32(3, 0, 2)] },
    { name: "edges", inputs: [{ dtype: "f32", shape: [8], values: [Number.NaN, 0, 8, 50, 1e4, -8, -50, Number.POSITIVE_INFINITY] }] },
  ],
  wrong: [
    { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /geluErf: expected x in f32, got i32 \[2\]; cast it/ },
    { name: "bool", inputs: [tensor("bool", 2)], error: "DTypeError", message: /x in f32, got bool/ },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32)], error: "DTypeError", message: /dequantise/ },
    { name: "an option", inputs: [f32(2)], params: { axis: 0 }, error: "ArgumentError", message: /options among \{\}, got axis/ },
  ],
};
