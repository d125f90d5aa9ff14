import { sampleGoldens } from "../goldens/sample.ts";
import { type CaseTensor, exact, f32, i32, type OpCases, tensor } from "../opCases.ts";

/** Options of all rows. */
interface RowOptions {
  readonly seed?: number;
  readonly temperature?: number;
  readonly topK?: number;
  readonly topP?: number;
  readonly minP?: number;
}

const repeated = (count: number, value: number): readonly number[] => new Array<number>(count).fill(value);
const f32Of = (...values: readonly number[]): CaseTensor => ({ ...f32(values.length), values });
const i32Of = (...values: readonly number[]): CaseTensor => i32([values.length], values);

/** Inputs of a call whose rows all have the same options. Positions are multiples of 7. */
function rowsOf(
  logits: CaseTensor,
  { seed = 1, temperature = 1, topK = 0, topP = 1, minP = 0 }: RowOptions = {},
  positions?: readonly number[],
): readonly CaseTensor[] {
  const rows = logits.shape.slice(0, -1) as readonly number[];
  const count = rows.reduce((product, extent) => product * extent, 1);
  const words = Array.from({ length: count }, () => [seed | 0, Math.floor(seed / 2 ** 32)]).flat();
  return [
    logits,
    i32(rows, positions ?? Array.from({ length: count }, (_, row) => 7 * row)),
    i32([...rows, 2], words),
    { ...f32(...rows), values: repeated(count, temperature) },
    i32(rows, repeated(count, topK)),
    { ...f32(...rows), values: repeated(count, topP) },
    { ...f32(...rows), values: repeated(count, minP) },
  ];
}

const wide = (...shape: readonly number[]): CaseTensor => ({ ...f32(...shape), fill: { low: -6, high: 6 } });
const none = Number.NEGATIVE_INFINITY;

/** Logits of which each 32nd one is large. */
const peaks = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => (i % 32 === 0 ? 5 : -5) + (i % 97) / 100);

/** Specs of a call with two rows of three logits, of which the given ones are replaced. */
const refused = (...replaced: readonly (CaseTensor | undefined)[]): readonly CaseTensor[] =>
  rowsOf(f32(2, 3)).map(({ dtype, shape }, i) => replaced[i] ?? { dtype, shape });

/**
 * The rows have one of few lengths, because the GPU backends compile a large kernel for each: that of the goldens, 67, 1037 (several blocks),
 * and one for each place where the way of choosing changes.
 */
export const sample: OpCases<"sample"> = {
  tolerance: { i32: exact },
  cases: [
    ...sampleGoldens,
    { name: "whole vocabulary", inputs: rowsOf(f32(3, 1037)) },
    { name: "greedy", inputs: rowsOf(f32(3, 1037), { temperature: 0 }) },
    { name: "greedy takes the first of equals", inputs: rowsOf({ ...f32(9), values: [1, 3, 3, 2, 0, 3, 1, 2, 2] }, { temperature: 0 }) },
    {
      name: "both zeros are equal",
      inputs: rowsOf({ ...f32(2, 9), values: [-1, -0, 0, -1, -1, -0, -1, 0, 0, -0, 0, -0, -1, 0, 0, -0, -1, 0] }, { temperature: 0 }),
    },
    { name: "top-k", inputs: rowsOf(f32(9, 67), { seed: 2, topK: 5 }) },
    { name: "top-k of equals", inputs: rowsOf({ ...f32(9, 9), values: repeated(81, 0.5) }, { seed: 2, topK: 3 }) },
    { name: "top-k above the number of logits", inputs: rowsOf(f32(9, 9), { seed: 2, topK: 50 }) },
    { name: "top-k of many equals", inputs: rowsOf({ ...f32(2, 1037), values: repeated(2074, -3) }, { seed: 6, topK: 611, topP: 0.9 }) },
    // Lanes of a group have one of the large logits each, and the choice falls on another one.
    {
      name: "top-k beyond the largest of each 32",
      inputs: rowsOf({ ...f32(8192), values: peaks(8192) }, { seed: 2, temperature: 1e6, topK: 300 }),
    },
    { name: "top-p", inputs: rowsOf(wide(9, 67), { seed: 3, topP: 0.7 }) },
    { name: "top-p of equals", inputs: rowsOf({ ...f32(9, 67), values: repeated(603, -2) }, { seed: 3, topP: 0.5 }) },
    { name: "top-p of 0 is greedy", inputs: rowsOf(f32(9, 67), { seed: 3, topP: 0 }) },
    { name: "top-p of many", inputs: rowsOf(f32(2, 1037), { seed: 3, topP: 0.9 }) },
    { name: "min-p", inputs: rowsOf(wide(9, 67), { seed: 4, minP: 0.2 }) },
    { name: "min-p of 1 keeps equals", inputs: rowsOf({ ...f32(9, 9), values: repeated(81, 3) }, { seed: 4, minP: 1 }) },
    {
      name: "all options",
      inputs: rowsOf(wide(3, 4, 67), { seed: 2 ** 53 - 1, temperature: 0.6, topK: 30, topP: 0.9, minP: 0.05 }),
    },
    { name: "all options, a vocabulary", inputs: rowsOf(wide(5, 4099), { seed: 9, temperature: 1.3, topK: 200, topP: 0.95, minP: 0.01 }) },
    {
      name: "options of each row",
      inputs: [
        wide(6, 67),
        i32Of(3, 3, 3, 4, 5, 6),
        i32([6, 2], [1, 0, 2, 0, 1, 7, 1, 0, -1, -1, 1, 0]),
        f32Of(1, 1, 1, 0, 0.3, 5),
        i32Of(0, 5, 0, 3, 40, 0),
        f32Of(1, 1, 0.5, 1, 0.9, 1),
        f32Of(0, 0, 0, 0, 0.1, 0.3),
      ],
    },
    {
      name: "options of each row, more blocks than lanes of a group",
      inputs: [
        wide(5, 9001),
        i32Of(3, 4, 5, 6, 7),
        i32([5, 2], [1, 0, 2, 0, 3, 0, 4, 0, 5, 0]),
        f32Of(0.8, 1.5, 1, 0, 1),
        i32Of(40, 0, 0, 0, 700),
        f32Of(0.95, 1, 0.5, 1, 0.8),
        f32Of(0.05, 0.01, 0, 0, 0),
      ],
    },
    {
      name: "options outside their range",
      inputs: [
        wide(4, 67),
        i32Of(0, 1, 2, 3),
        i32([4, 2], [1, 0, 1, 0, 1, 0, 1, 0]),
        f32Of(-1, 1e30, 1, 1),
        i32Of(0, -3, 0, 0),
        f32Of(1, 2, -1, 1),
        f32Of(0, -1, 0, 2),
      ],
    },
    {
      name: "masked",
      inputs: rowsOf(f32(4, 67), { seed: 5, topK: 4 }),
      optional: { mask: i32([3, 3], [0x0f0f0f0f, -1, 0, 0, 1 << 31, 0, 0, 0, 5]), maskRow: i32Of(2, 0, -1, 1) },
    },
    {
      name: "masked logits may be anything",
      inputs: rowsOf(
        {
          ...f32(3, 9),
          values: [
            ...[Number.NaN, 1, 2, 1, 5, none, 5, 5, 5],
            ...[0, 3, Number.POSITIVE_INFINITY, 2, Number.NaN, 5, 5, 5, 5],
            ...[0, 1, 2, 3, 5, 5, 5, 5, none],
          ],
        },
        { seed: 5 },
      ),
      optional: { mask: i32([1, 1], [0b1010]), maskRow: i32Of(0, 0, 1) },
    },
    {
      name: "excluded",
      inputs: rowsOf({ ...f32(2, 9), values: [0, none, none, 0.5, ...repeated(6, none), 2, none, 1, ...repeated(5, none)] }, { seed: 5 }),
    },
    { name: "huge logits", inputs: rowsOf({ ...f32(3, 9), fill: { low: -1e4, high: 1e4 } }, { seed: 6, temperature: 0.01 }) },
    { name: "one", inputs: rowsOf(f32(3, 1), { seed: 7 }) },
    { name: "negative positions are counters too", inputs: rowsOf(f32(2, 9), { seed: 8 }, [-1, -2147483648]) },
    { name: "no rows", inputs: rowsOf(f32(0, 9), { seed: 9 }) },
  ],
  wrong: [
    { name: "scalar", inputs: refused(f32()), error: "ShapeError", message: /rank 1 or more/ },
    {
      name: "nothing to choose",
      inputs: refused(f32(2, 0)),
      error: "ArgumentError",
      message: /at least one logit per row, got f32 \[2, 0\]/,
    },
    { name: "too many", inputs: refused(f32(2, 2 ** 24 + 1)), error: "ArgumentError", message: /at most 16777216 logits per row/ },
    { name: "positions", inputs: refused(undefined, tensor("i32", 3)), error: "ShapeError", message: /position \[2\], got i32 \[3\]/ },
    { name: "seed", inputs: refused(undefined, undefined, tensor("i32", 2)), error: "ShapeError", message: /seed \[2, 2\], got i32 \[2\]/ },
    {
      name: "f32 positions",
      inputs: refused(undefined, f32(2)),
      error: "DTypeError",
      message: /position in i32, got f32 \[2\]/,
    },
    {
      name: "i32 temperature",
      inputs: refused(undefined, undefined, undefined, tensor("i32", 2)),
      error: "DTypeError",
      message: /temperature in f32, got i32 \[2\]/,
    },
    { name: "f16", inputs: refused(tensor("f16", 2, 3)), error: "DTypeError", message: /logits in f32, got f16 \[2, 3\]; cast it/ },
    {
      name: "mask",
      inputs: refused(),
      optional: { mask: tensor("i32", 2, 2), maskRow: tensor("i32", 2) },
      error: "ShapeError",
      message: /mask \[2, 1\], got i32 \[2, 2\]/,
    },
    {
      name: "mask alone",
      inputs: refused(),
      optional: { mask: tensor("i32", 2, 1) },
      error: "ArgumentError",
      message: /both mask and maskRow, or none, got mask/,
    },
    { name: "an option", inputs: refused(), params: { seed: 1 }, error: "ArgumentError", message: /options among \{.*\}, got seed/ },
    {
      name: "symbolic row",
      inputs: [{ dtype: "f32", shape: [{ name: "V", max: 8 }] }, ...rowsOf(f32(3)).slice(1)],
      error: "ShapeError",
      message: /the symbolic dim V/,
    },
  ],
};
