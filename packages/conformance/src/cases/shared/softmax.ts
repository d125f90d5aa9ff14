import { elementAt } from "@centella/core/backend";
import { f32, i32, type SharedCase, type WrongCase } from "../../opCases.ts";

const maskedLength = 33_000;

const maskedRows: readonly number[] = [
  (i: number) => (i < 20_000 ? Number.NEGATIVE_INFINITY : (i % 77) / 7),
  () => Number.NEGATIVE_INFINITY,
  (i: number) => (i === 30_001 ? -3e38 : Number.NEGATIVE_INFINITY),
  (i: number) => (i === 32_999 ? Number.NaN : i % 5),
  (i: number) => (i === 17 ? Number.POSITIVE_INFINITY : i % 5),
].flatMap((value) => Array.from({ length: maskedLength }, (_, i) => value(i)));

/** As {@link maskedRows}, of 67 elements and next to each other: the last rows of the first column are masked. */
const maskedColumns: readonly number[] = Array.from({ length: 67 * 5 }, (_, at) => {
  const i = Math.floor(at / 5);
  const values = [
    i < 20 ? (i % 7) / 7 : Number.NEGATIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    i === 61 ? -3e38 : Number.NEGATIVE_INFINITY,
    i === 66 ? Number.NaN : i % 5,
    i === 17 ? Number.POSITIVE_INFINITY : i % 5,
  ];
  return elementAt(values, at % 5);
});

/** Cases of softmax and its logarithm. */
export const softmaxCases: readonly SharedCase<{ readonly axis?: number }>[] = [
  { name: "rows", inputs: [f32(7, 67)] },
  { name: "vocabulary", inputs: [{ dtype: "f32", shape: [2, 1037], fill: { low: -20, high: 20 } }] },
  { name: "a row that groups share", inputs: [{ dtype: "f32", shape: [40_000], fill: { low: -20, high: 20 } }], params: { axis: 0 } },
  { name: "odd rows that groups share", inputs: [{ dtype: "f32", shape: [2, 33_001], fill: { low: -20, high: 20 } }] },
  { name: "a first axis that groups share", inputs: [f32(33_000, 2)], params: { axis: 0 } },
  // Whole shares are masked, all of the second row, and nearly all of the third; the fourth has NaN in its last share.
  { name: "masked rows that groups share", inputs: [{ dtype: "f32", shape: [5, maskedLength], values: maskedRows }] },
  { name: "middle axis", inputs: [f32(3, 9, 4)], params: { axis: 1 } },
  { name: "channels of an image", inputs: [{ dtype: "f32", shape: [2, 21, 6, 11], fill: { low: -20, high: 20 } }], params: { axis: 1 } },
  { name: "an odd number of columns", inputs: [f32(2, 35, 131)], params: { axis: 1 } },
  { name: "columns that groups share", inputs: [{ dtype: "f32", shape: [1281, 16], fill: { low: -20, high: 20 } }], params: { axis: 0 } },
  { name: "masked columns", inputs: [{ dtype: "f32", shape: [67, 5], values: maskedColumns }], params: { axis: 0 } },
  { name: "rows of 1", inputs: [f32(5, 1)] },
  { name: "vector", inputs: [f32(33)], params: { axis: 0 } },
  { name: "no rows", inputs: [f32(0, 4)] },
  { name: "empty rows", inputs: [f32(3, 0)] },
  {
    name: "masked",
    inputs: [
      { dtype: "f32", shape: [2, 3], values: [Number.NEGATIVE_INFINITY, 1, 2, 0, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY] },
    ],
  },
  {
    name: "all masked, NaN",
    inputs: [{ dtype: "f32", shape: [3, 2], values: [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 1, 0, 1] }],
  },
];

/** What they all refuse. */
export const softmaxMistakes: readonly WrongCase[] = [
  {
    name: "axis",
    inputs: [f32(2, 3)],
    params: { axis: 2 },
    error: "ArgumentError",
    message: /axis to be a whole number from -2 to 1, got 2/,
  },
  { name: "scalar", inputs: [f32()], error: "ShapeError", message: /a scalar has no axes/ },
  { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /x in f32/ },
];
