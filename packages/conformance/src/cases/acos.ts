import { acosGoldens } from "../goldens/acos.ts";
import { f32, i32, type OpCases, tensor } from "../opCases.ts";

export const acos: OpCases<"acos"> = {
  // A polynomial in f32, with a root of 2 ulp near 1.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...acosGoldens,
    { name: "no multiple of a vector", inputs: [{ dtype: "f32", shape: [3, 5, 7], fill: { low: -1, high: 1 } }] },
    { name: "more than one workgroup", inputs: [{ dtype: "f32", shape: [1037], fill: { low: -1, high: 1 } }] },
    { name: "scalar", inputs: [{ dtype: "f32", shape: [], fill: { low: -1, high: 1 } }] },
    { name: "empty", inputs: [f32(3, 0, 2)] },
    { name: "edges", inputs: [{ dtype: "f32", shape: [6], values: [Number.NaN, 0, 1, -1, 1.5, -2] }] },
  ],
  wrong: [
    { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /acos: expected x in f32, got i32 \[2\]; cast it/ },
    { name: "bool", inputs: [tensor("bool", 2)], error: "DTypeError", message: /x in f32, got bool/ },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32)], error: "DTypeError", message: /dequantise/ },
    { name: "an option", inputs: [f32(2)], params: { axis: 0 }, error: "ArgumentError", message: /options among \{\}, got axis/ },
  ],
};
