import { type CaseTensor, f32, type SharedCase, tensor, type WrongCase } from "../../opCases.ts";

const tied: CaseTensor = {
  dtype: "f32",
  shape: [9000],
  values: Array.from({ length: 9000 }, (_, i) => [0, -0, Number.NaN, 1, Number.NEGATIVE_INFINITY][i % 1750] ?? 0.5),
};

/** Cases of the ops that choose the greatest elements. */
export const topElementsCases: readonly SharedCase<{ readonly k: number; readonly axis?: number; readonly largest?: boolean }>[] = [
  { name: "vocabulary", inputs: [f32(3, 1037)], params: { k: 40 } },
  { name: "rows that groups share", inputs: [f32(2, 9001)], params: { k: 7 } },
  { name: "smallest of a first axis that groups share", inputs: [f32(9001, 2)], params: { k: 5, axis: 0, largest: false } },
  // Of 70 tiles, whose winners are more than a tile has.
  { name: "many of many tiles", inputs: [f32(280_000)], params: { k: 32 } },
  { name: "ties in several tiles", inputs: [tied], params: { k: 9 } },
  { name: "the smallest ties in several tiles", inputs: [tied], params: { k: 9, largest: false } },
  { name: "first axis", inputs: [f32(67, 5)], params: { k: 3, axis: 0 } },
  { name: "smallest", inputs: [f32(3, 9, 4)], params: { k: 2, axis: 1, largest: false } },
  { name: "ties", inputs: [{ dtype: "f32", shape: [6], values: [2, 1, 2, 1, 2, 1] }], params: { k: 4 } },
  { name: "all", inputs: [f32(2, 5)], params: { k: 5 } },
  { name: "none", inputs: [f32(2, 5)], params: { k: 0 } },
  { name: "no rows", inputs: [f32(0, 5)], params: { k: 2 } },
];

/** What they all refuse. */
export const topElementsMistakes = (op: string): readonly WrongCase[] => [
  {
    name: "k",
    inputs: [f32(2, 3)],
    params: { k: 4 },
    error: "ArgumentError",
    message: new RegExp(`${op}: expected k up to the axis's extent 3, got 4`),
  },
  {
    name: "negative k",
    inputs: [f32(2, 3)],
    params: { k: -1 },
    error: "ArgumentError",
    message: /k to be a whole number from 0, got -1/,
  },
  { name: "no k", inputs: [f32(2, 3)], error: "ArgumentError", message: /option k, got none/ },
  { name: "axis", inputs: [f32(2, 3)], params: { k: 1, axis: 2 }, error: "ArgumentError", message: /got 2/ },
  {
    name: "largest",
    inputs: [f32(2, 3)],
    params: { k: 1, largest: 1 },
    error: "ArgumentError",
    message: /largest to be true or false, got 1/,
  },
  {
    name: "symbolic axis",
    inputs: [{ dtype: "f32", shape: [{ name: "T", max: 4 }, 2] }],
    params: { k: 1, axis: 0 },
    error: "ShapeError",
    message: /axis 0 of x to be a number, got the symbolic dim T/,
  },
  { name: "scalar", inputs: [f32()], params: { k: 1 }, error: "ShapeError", message: /a scalar has no axes/ },
  { name: "i32", inputs: [tensor("i32", 3)], params: { k: 1 }, error: "DTypeError", message: /x in f32, got i32/ },
];
