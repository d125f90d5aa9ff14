import { fullGoldens } from "../goldens/full.ts";
import { exact, type OpCases } from "../opCases.ts";

export const full: OpCases<"full"> = {
  tolerance: { f32: exact, f16: exact, bf16: exact, i32: exact, u32: exact, i8: exact, u8: exact, bool: exact },
  cases: [
    ...fullGoldens,
    { name: "more than one workgroup", inputs: [], params: { shape: [5, 257], value: -0.3 } },
    { name: "scalar", inputs: [], params: { shape: [], value: 7 } },
    { name: "empty", inputs: [], params: { shape: [0, 3], value: 7 } },
    { name: "f16", inputs: [], params: { shape: [3], value: 0.1, dtype: "f16" } },
    { name: "bool", inputs: [], params: { shape: [3], value: 1, dtype: "bool" } },
    { name: "u32", inputs: [], params: { shape: [3], value: 4294967295, dtype: "u32" } },
    { name: "minus infinity", inputs: [], params: { shape: [3], value: Number.NEGATIVE_INFINITY } },
  ],
  wrong: [
    {
      name: "shape",
      inputs: [],
      params: { shape: [-1], value: 0 },
      error: "ShapeError",
      message: /full: expected extents that are whole numbers from 0/,
    },
    {
      name: "no list",
      inputs: [],
      params: { shape: 3, value: 0 },
      error: "ArgumentError",
      message: /shape to be a list of extents, got 3/,
    },
    { name: "no shape", inputs: [], params: { value: 0 }, error: "ArgumentError", message: /option shape, got none/ },
    { name: "no value", inputs: [], params: { shape: [1] }, error: "ArgumentError", message: /option value, got none/ },
    {
      name: "value",
      inputs: [],
      params: { shape: [1], value: 0.5, dtype: "i32" },
      error: "ArgumentError",
      message: /a value that i32 can hold, got 0.5/,
    },
    {
      name: "range",
      inputs: [],
      params: { shape: [1], value: -1, dtype: "u32" },
      error: "ArgumentError",
      message: /a value that u32 can hold, got -1/,
    },
    {
      name: "truth",
      inputs: [],
      params: { shape: [1], value: 2, dtype: "bool" },
      error: "ArgumentError",
      message: /a value that bool can hold, got 2/,
    },
    { name: "NaN", inputs: [], params: { shape: [1], value: Number.NaN }, error: "ArgumentError", message: /got NaN/ },
    {
      name: "dtype",
      inputs: [],
      params: { shape: [32], value: 1, dtype: "q8_0" },
      error: "ArgumentError",
      message: /dtype to be .* got "q8_0"/,
    },
  ],
};
