import { powGoldens } from "../goldens/pow.ts";
import { f32, i32, type OpCases, tensor } from "../opCases.ts";

const positive = { low: 0.1, high: 4 };

export const pow: OpCases<"pow"> = {
  // Kernels may form 2^(exponent log2 x), with an error of |exponent log2 x| ulp; here that is at most 12.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-7 } },
  cases: [
    ...powGoldens,
    { name: "no multiple of a vector", inputs: [{ dtype: "f32", shape: [3, 5, 7], fill: positive }], params: { exponent: 1.5 } },
    { name: "more than one workgroup", inputs: [{ dtype: "f32", shape: [1037], fill: positive }], params: { exponent: -2.5 } },
    { name: "negative bases", inputs: [{ dtype: "f32", shape: [33], fill: { low: -3, high: 3 } }], params: { exponent: 3 } },
    { name: "scalar", inputs: [f32()], params: { exponent: 2 } },
    { name: "empty", inputs: [f32(3, 0, 2)], params: { exponent: 2 } },
    {
      name: "exponent 0",
      inputs: [{ dtype: "f32", shape: [4], values: [0, Number.NaN, -2, Number.POSITIVE_INFINITY] }],
      params: { exponent: 0 },
    },
  ],
  wrong: [
    { name: "i32", inputs: [i32([2], [1, 2])], params: { exponent: 2 }, error: "DTypeError", message: /x in f32, got i32/ },
    { name: "quantised", inputs: [tensor("q8_0", 32)], params: { exponent: 2 }, error: "DTypeError", message: /dequantise/ },
    { name: "no exponent", inputs: [f32(2)], error: "ArgumentError", message: /option exponent, got none/ },
    { name: "text", inputs: [f32(2)], params: { exponent: "2" }, error: "ArgumentError", message: /exponent to be a number, got "2"/ },
    { name: "NaN", inputs: [f32(2)], params: { exponent: Number.NaN }, error: "ArgumentError", message: /got NaN/ },
  ],
};
