import { rmsNormGoldens } from "../goldens/rmsNorm.ts";
import { f32, type OpCases, tensor } from "../opCases.ts";

export const rmsNorm: OpCases<"rmsNorm"> = {
  // f32 sums of up to 1037 squares and a reciprocal root of 2 ulp.
  tolerance: { f32: { rtol: 2e-5, atol: 1e-6 } },
  cases: [
    ...rmsNormGoldens,
    { name: "rows", inputs: [f32(7, 67), { ...f32(67), as: "persistent" }], params: { eps: 1e-5 } },
    { name: "one row", inputs: [f32(1, 1037), f32(1037)], params: { eps: 1e-6 } },
    { name: "a row that groups share", inputs: [f32(1, 40_000), f32(40_000)], params: { eps: 1e-6 } },
    { name: "odd rows that groups share", inputs: [f32(2, 33_001), f32(33_001)], params: { eps: 1e-6 } },
    { name: "per head", inputs: [f32(3, 5, 16), f32(16)], params: { eps: 1e-6 } },
    { name: "vector", inputs: [f32(33), f32(33)], params: { eps: 1e-5 } },
    { name: "zeros", inputs: [{ dtype: "f32", shape: [2, 5], values: new Array<number>(10).fill(0) }, f32(5)], params: { eps: 1e-5 } },
    { name: "large eps", inputs: [f32(2, 8), f32(8)], params: { eps: 1 } },
    { name: "no rows", inputs: [f32(0, 8), f32(8)], params: { eps: 1e-5 } },
    { name: "empty rows", inputs: [f32(3, 0), f32(0)], params: { eps: 1e-5 } },
  ],
  wrong: [
    {
      name: "weight",
      inputs: [f32(2, 8), f32(7)],
      params: { eps: 1e-5 },
      error: "ShapeError",
      message: /rmsNorm: expected w \[8\], got f32 \[7\]/,
    },
    { name: "scalar", inputs: [f32(), f32(1)], params: { eps: 1e-5 }, error: "ShapeError", message: /x \[\.\.\., n\]/ },
    { name: "no eps", inputs: [f32(2, 8), f32(8)], error: "ArgumentError", message: /option eps, got none/ },
    {
      name: "negative eps",
      inputs: [f32(2, 8), f32(8)],
      params: { eps: -1 },
      error: "ArgumentError",
      message: /eps to be a finite number from 0, got -1/,
    },
    { name: "NaN eps", inputs: [f32(2, 8), f32(8)], params: { eps: Number.NaN }, error: "ArgumentError", message: /got NaN/ },
    { name: "f16 weight", inputs: [f32(2, 8), tensor("f16", 8)], params: { eps: 1e-5 }, error: "DTypeError", message: /w in f32, got f16/ },
  ],
};
