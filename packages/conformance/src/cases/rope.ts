import { ropeGoldens } from "../goldens/rope.ts";
import { type CaseTensor, f32, i32, type OpCases } from "../opCases.ts";

const positions: CaseTensor = i32([5], [0, 1, 2, 50, 100]);

export const rope: OpCases<"rope"> = {
  // Angles up to 100 in f32 are off by 100 * 2^-24 = 6e-6, and sines of GPUs by 1e-6.
  tolerance: { f32: { rtol: 1e-5, atol: 3e-5 } },
  cases: [
    ...ropeGoldens,
    { name: "norm", inputs: [f32(5, 3, 64), positions], params: { ropeType: "norm" } },
    { name: "neox", inputs: [f32(5, 3, 64), positions], params: { ropeType: "neox" } },
    { name: "neox, part of the head", inputs: [f32(5, 2, 48), positions], params: { ropeType: "neox", dims: 32, base: 1e6 } },
    { name: "norm, part of the head", inputs: [f32(5, 2, 11), positions], params: { ropeType: "norm", dims: 6 } },
    { name: "scaled", inputs: [f32(5, 1, 16), positions], params: { ropeType: "neox", scale: 0.25, base: 500 } },
    {
      name: "frequency factors",
      inputs: [f32(5, 2, 16), positions],
      optional: { freqFactors: { dtype: "f32", shape: [8], fill: { low: 1, high: 8 } } },
      params: { ropeType: "norm" },
    },
    {
      name: "far positions",
      inputs: [f32(2, 2, 16), i32([2], [4095, 8191])],
      params: { ropeType: "neox" },
      // 8191 * 2^-24 = 5e-4 for an angle whose frequency is rounded to f32, and as much again for the product.
      tolerance: { rtol: 0, atol: 2e-3 },
    },
    { name: "no tokens", inputs: [f32(0, 3, 8), i32([0], [])], params: { ropeType: "neox" } },
    { name: "no heads", inputs: [f32(1, 0, 8), i32([1], [3])], params: { ropeType: "neox" } },
  ],
  wrong: [
    { name: "no ropeType", inputs: [f32(5, 3, 64), positions], error: "ArgumentError", message: /option ropeType, got none/ },
    {
      name: "ropeType",
      inputs: [f32(5, 3, 64), positions],
      params: { ropeType: "half" as "neox" },
      error: "ArgumentError",
      message: /ropeType to be "norm" or "neox", got "half"/,
    },
    {
      name: "dims above D",
      inputs: [f32(5, 3, 64), positions],
      params: { ropeType: "neox", dims: 66 },
      error: "ArgumentError",
      message: /an even number from 0 to D = 64, got 66/,
    },
    {
      name: "odd dims",
      inputs: [f32(5, 3, 64), positions],
      params: { ropeType: "neox", dims: 3 },
      error: "ArgumentError",
      message: /got 3/,
    },
    {
      name: "odd D",
      inputs: [f32(5, 3, 7), positions],
      params: { ropeType: "neox" },
      error: "ArgumentError",
      message: /pass an even dims/,
    },
    {
      name: "base",
      inputs: [f32(5, 3, 8), positions],
      params: { ropeType: "neox", base: 0 },
      error: "ArgumentError",
      message: /base to be a finite number above 0, got 0/,
    },
    {
      name: "scale",
      inputs: [f32(5, 3, 8), positions],
      params: { ropeType: "neox", scale: -1 },
      error: "ArgumentError",
      message: /scale to be/,
    },
    {
      name: "f32 positions",
      inputs: [f32(5, 3, 8), f32(5)],
      params: { ropeType: "neox" },
      error: "DTypeError",
      message: /positions in i32, got f32/,
    },
    {
      name: "number of positions",
      inputs: [f32(4, 3, 8), positions],
      params: { ropeType: "neox" },
      error: "ShapeError",
      message: /positions \[4\], got i32 \[5\]/,
    },
    { name: "rank", inputs: [f32(4, 8), positions], params: { ropeType: "neox" }, error: "ShapeError", message: /x \[T, H, D\]/ },
    {
      name: "frequency factors",
      inputs: [f32(5, 3, 8), positions],
      optional: { freqFactors: f32(8) },
      params: { ropeType: "neox" },
      error: "ShapeError",
      message: /freqFactors \[4\], got f32 \[8\]/,
    },
  ],
};
