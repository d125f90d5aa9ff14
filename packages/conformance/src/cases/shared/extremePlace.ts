import { f32, i32, type SharedCase, type WrongCase } from "../../opCases.ts";

/** What is looked for. `found` is beyond `others`, and beyond 0, 1 and 2. */
interface Extreme {
  readonly name: "largest" | "smallest";
  readonly found: number;
  readonly others: number;
  /** Two values, the second of which is found. */
  readonly ends: readonly [number, number];
}

/** Cases of the index of the largest value, or of the smallest. */
export function extremePlaceCases({ name, found, others, ends }: Extreme): readonly SharedCase<{ readonly axis?: number }>[] {
  return [
    { name: "vocabulary", inputs: [f32(3, 1037)] },
    { name: "vector", inputs: [f32(67)] },
    { name: "middle axis", inputs: [f32(3, 9, 4)], params: { axis: 1 } },
    {
      name: "equal values far apart",
      inputs: [{ dtype: "f32", shape: [1, 600], values: Array.from({ length: 600 }, (_, i) => (i === 77 || i === 500 ? found : others)) }],
    },
    { name: "rows that groups share", inputs: [f32(2, 20_001)] },
    {
      name: "equal values in the shares of two groups",
      inputs: [
        { dtype: "f32", shape: [20_000], values: Array.from({ length: 20_000 }, (_, i) => (i === 4777 || i === 19_500 ? found : others)) },
      ],
    },
    {
      name: `NaN after the ${name}`,
      inputs: [{ dtype: "f32", shape: [5], values: [...ends, Number.NaN, Number.POSITIVE_INFINITY, Number.NaN] }],
    },
    { name: "channels of an image", inputs: [f32(2, 21, 6, 11)], params: { axis: 1 } },
    { name: "an odd number of columns", inputs: [f32(2, 35, 131)], params: { axis: 1 } },
    // The second column has equal values in rows 1000 and 3500.
    {
      name: "equal values in shares of columns",
      inputs: [
        {
          dtype: "f32",
          shape: [4097, 4],
          values: Array.from({ length: 4 * 4097 }, (_, i) => (i === 4001 || i === 14_001 ? found : i % 3)),
        },
      ],
      params: { axis: 0 },
    },
    {
      name: "NaN, infinities and zeros in columns",
      inputs: [
        {
          dtype: "f32",
          shape: [3, 4],
          values: [
            0,
            Number.NaN,
            -0,
            Number.NEGATIVE_INFINITY,
            -0,
            1,
            0,
            Number.NEGATIVE_INFINITY,
            0,
            Number.NaN,
            -0,
            Number.POSITIVE_INFINITY,
          ],
        },
      ],
      params: { axis: 0 },
    },
    { name: "axis of 1", inputs: [f32(4, 1)] },
    { name: "no rows", inputs: [f32(0, 4)] },
  ];
}

/** What both refuse. */
export const extremePlaceMistakes: readonly WrongCase[] = [
  { name: "axis", inputs: [f32(2, 3)], params: { axis: -3 }, error: "ArgumentError", message: /from -2 to 1, got -3/ },
  { name: "null", inputs: [f32(2, 3)], params: { axis: null }, error: "ArgumentError", message: /got null/ },
  { name: "scalar", inputs: [f32()], error: "ShapeError", message: /a scalar has no axes/ },
  { name: "empty", inputs: [f32(2, 0)], error: "ShapeError", message: /at least one element/ },
  { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /x in f32/ },
];
