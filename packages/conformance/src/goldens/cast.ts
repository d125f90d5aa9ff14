// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const castGoldens: OpCases<"cast">["cases"] = [
  {
    name: "golden: f32 to i32",
    inputs: [{ dtype: "f32", shape: [8], values: [0, 0.5, -0.5, 1.75, -1.75, 2.5, 100.25, -100.25] }],
    params: { dtype: "i32" },
    golden: [0, 0, 0, 1, -1, 2, 100, -100],
  },
  {
    name: "golden: f32 to i8",
    inputs: [{ dtype: "f32", shape: [8], values: [0, 0.5, -0.5, 1.75, -1.75, 2.5, 100.25, -100.25] }],
    params: { dtype: "i8" },
    golden: [0, 0, 0, 1, -1, 2, 100, -100],
  },
  {
    name: "golden: f32 to bool",
    inputs: [{ dtype: "f32", shape: [8], values: [0, 0.5, -0.5, 1.75, -1.75, 2.5, 100.25, -100.25] }],
    params: { dtype: "bool" },
    golden: [0, 1, 1, 1, 1, 1, 1, 1],
  },
  {
    name: "golden: f32 to f16",
    inputs: [{ dtype: "f32", shape: [4], values: [0.3125, 2049, 2051, 4097] }],
    params: { dtype: "f16" },
    golden: [0.3125, 2048, 2052, 4096],
  },
  {
    name: "golden: i32 to i8",
    inputs: [{ dtype: "i32", shape: [8], values: [0, 1, -1, 127, 128, 255, 256, -129] }],
    params: { dtype: "i8" },
    golden: [0, 1, -1, 127, -128, -1, 0, 127],
  },
  {
    name: "golden: i32 to u8",
    inputs: [{ dtype: "i32", shape: [8], values: [0, 1, -1, 127, 128, 255, 256, -129] }],
    params: { dtype: "u8" },
    golden: [0, 1, 255, 127, 128, 255, 0, 127],
  },
  {
    name: "golden: i32 to u32",
    inputs: [{ dtype: "i32", shape: [8], values: [0, 1, -1, 127, 128, 255, 256, -129] }],
    params: { dtype: "u32" },
    golden: [0, 1, 4294967295, 127, 128, 255, 256, 4294967167],
  },
  {
    name: "golden: i32 to f32",
    inputs: [{ dtype: "i32", shape: [8], values: [0, 1, -1, 127, 128, 255, 256, -129] }],
    params: { dtype: "f32" },
    golden: [0, 1, -1, 127, 128, 255, 256, -129],
  },
  {
    name: "golden: bool to f32",
    inputs: [{ dtype: "bool", shape: [8], values: [0, 1, 1, 1, 1, 1, 1, 1] }],
    params: { dtype: "f32" },
    golden: [0, 1, 1, 1, 1, 1, 1, 1],
  },
];
