import { divGoldens } from "../goldens/div.ts";
import { f32, i32, type OpCases, rounding } from "../opCases.ts";

export const div: OpCases<"div"> = {
  // WebGPU allows division 2.5 ulp.
  tolerance: { f32: rounding },
  cases: [
    ...divGoldens,
    { name: "no multiple of a vector", inputs: [f32(3, 5, 7), { dtype: "f32", shape: [3, 5, 7], fill: { low: 0.5, high: 2 } }] },
    { name: "more than one workgroup", inputs: [f32(1037), { dtype: "f32", shape: [1037], fill: { low: 0.5, high: 2 } }] },
    { name: "bias row", inputs: [f32(9, 13), { dtype: "f32", shape: [13], fill: { low: 0.5, high: 2 } }] },
    {
      name: "bias row as weight",
      inputs: [f32(9, 13), { ...{ dtype: "f32", shape: [13], fill: { low: 0.5, high: 2 } }, as: "persistent" }],
    },
    { name: "row by constant", inputs: [f32(5, 6), { ...{ dtype: "f32", shape: [6], fill: { low: 0.5, high: 2 } }, as: "constant" }] },
    { name: "column", inputs: [f32(9, 13), { dtype: "f32", shape: [9, 1], fill: { low: 0.5, high: 2 } }] },
    { name: "outer product", inputs: [f32(7, 1), { dtype: "f32", shape: [1, 5], fill: { low: 0.5, high: 2 } }] },
    { name: "smaller on the left", inputs: [f32(4), { dtype: "f32", shape: [3, 2, 4], fill: { low: 0.5, high: 2 } }] },
    { name: "both stretched", inputs: [f32(2, 1, 3, 1), { dtype: "f32", shape: [5, 1, 4], fill: { low: 0.5, high: 2 } }] },
    { name: "scalar on the right", inputs: [f32(3, 11), { dtype: "f32", shape: [], fill: { low: 0.5, high: 2 } }] },
    { name: "scalar on the left", inputs: [f32(), { dtype: "f32", shape: [33], fill: { low: 0.5, high: 2 } }] },
    { name: "two scalars", inputs: [f32(), { dtype: "f32", shape: [], fill: { low: 0.5, high: 2 } }] },
    { name: "empty", inputs: [f32(0, 4), { dtype: "f32", shape: [4], fill: { low: 0.5, high: 2 } }] },
    { name: "empty against 1", inputs: [f32(0), { dtype: "f32", shape: [1], fill: { low: 0.5, high: 2 } }] },
    {
      name: "by zero",
      inputs: [
        { dtype: "f32", shape: [3], values: [1, -1, 0] },
        { dtype: "f32", shape: [], values: [0] },
      ],
    },
  ],
  wrong: [
    {
      name: "shapes",
      inputs: [f32(2, 3), f32(2)],
      error: "ShapeError",
      message: /div: expected shapes that broadcast .* got \[2, 3\] and \[2\]; reshape one/,
    },
    {
      name: "symbolic against a number",
      inputs: [{ dtype: "f32", shape: [{ name: "T", max: 4 }, 2] }, f32(3, 2)],
      error: "ShapeError",
      message: /T≤4/,
    },
    {
      name: "two symbols",
      inputs: [
        { dtype: "f32", shape: [{ name: "T", max: 4 }] },
        { dtype: "f32", shape: [{ name: "S", max: 4 }] },
      ],
      error: "ShapeError",
      message: /T≤4.*S≤4/,
    },
    { name: "i32", inputs: [i32([2], [1, 2]), i32([2], [1, 2])], error: "DTypeError", message: /a in f32, got i32/ },
  ],
};
