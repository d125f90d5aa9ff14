import { elementAt } from "@centella/core/backend";
import type { Bool, F32, U32 } from "@centella/gpu-kernels";
import type { LeftFragment, RightFragment, SumFragment } from "../../ptx/matrix.ts";
import type { Var } from "../../ptx/writer.ts";
import type { Lane } from "../products/unitDecoder.ts";
import { halfScale } from "../shared/halfScale.ts";
import type { Scope } from "../shared/kernel.ts";
import type { Piece } from "./pieces.ts";
import { type AttentionParams, type AttentionSizes, slopeOf, type TokenQuery } from "./problem.ts";

/** Below every score, and finite: its difference to a score that does not count is one, not NaN. */
const noMaximum = -1e30;

/** Scores may exceed the maximum that weights are relative to by this power of two, before the outputs are scaled again. */
const slack = 8;

/** A head of a token: one row of a tile. */
export interface QueryRow extends TokenQuery {
  readonly token: U32;
  readonly head: U32;
}

/** What the lane keeps of one of its two rows. */
interface RowState {
  /** Turns products into scores, as powers of two; with a soft cap into the exponent of its tanh. */
  readonly factor: F32;
  readonly slope: F32 | undefined;
  readonly position: F32 | undefined;
  readonly low: U32;
  /** Positions that the row sees from `low` on. */
  readonly seen: U32;
  readonly maximum: Var<"f32">;
  /** Sum of the weights of the lane's columns. */
  readonly total: Var<"f32">;
}

/** Positions whose scores are added to a tile. */
export interface ScoredPositions {
  readonly first: U32;
  /** Whether every row sees all of them, and all are stored; the same in all lanes. By default that is not known. */
  readonly isWhole?: Bool;
  /** Whether the lane's column is in the cache, for columns 2t, 2t + 1, 2t + 8, 2t + 9 and so on. */
  isStored(column: number): Bool;
}

/** Sixteen rows of queries with their softmaxes and outputs, which the lanes of a warp share. */
export class QueryTile {
  readonly #scope: Scope;
  readonly #params: AttentionParams;
  readonly #lane: Lane;
  readonly #valuePieces: readonly Piece[];
  readonly #query: readonly LeftFragment[];
  readonly #rows: readonly RowState[];
  /** Per piece of a value and element of it, four sums. */
  readonly #outputs: readonly (readonly (readonly Var<"f32">[])[])[];
  #weights: readonly LeftFragment[] = [];

  /** `rows`: the rows of the lane, `lane.row` and `lane.row + 8`. */
  constructor(
    scope: Scope,
    { params, sizes }: { readonly params: AttentionParams; readonly sizes: AttentionSizes },
    { lane, rows }: { readonly lane: Lane; readonly rows: readonly QueryRow[] },
    pieces: { readonly keys: readonly Piece[]; readonly values: readonly Piece[] },
  ) {
    const { k } = scope;
    this.#scope = scope;
    this.#params = params;
    this.#lane = lane;
    this.#valuePieces = pieces.values;
    const loaded = rows.map((row) => loadQuery(scope, sizes, row, pieces.keys, lane));
    const [first, second] = loaded.map(({ words }) => words) as [readonly U32[], readonly U32[]];
    this.#query = Array.from({ length: first.length / 2 }, (_, i) => [
      elementAt(first, 2 * i),
      elementAt(second, 2 * i),
      elementAt(first, 2 * i + 1),
      elementAt(second, 2 * i + 1),
    ]);
    this.#rows = rows.map((row, i) => this.#stateOf(row, sizes, elementAt(loaded, i).inverse));
    this.#outputs = pieces.values.map(({ count }) =>
      Array.from({ length: count }, () => Array.from({ length: 4 }, () => k.variable("f32", 0))),
    );
  }

  #stateOf(row: QueryRow, { heads }: AttentionSizes, inverse: F32): RowState {
    const { k } = this.#scope;
    const { scale, softcap } = this.#params;
    const slope = slopeOf(this.#scope, this.#params, heads, row.head);
    return {
      factor: k.mul(inverse, scale * Math.LOG2E * (softcap === 0 ? 1 : 2 / softcap)),
      slope: slope && k.mul(slope, Math.LOG2E),
      position: slope && k.convert("f32", row.position),
      low: row.low,
      seen: k.sub(k.max(row.high, row.low), row.low),
      maximum: k.variable("f32", noMaximum),
      total: k.variable("f32", 0),
    };
  }

  /** Adds the products of the queries with a part of eight keys: product `step` of those of a key. */
  multiplyKeys(step: number, keys: RightFragment, sum: SumFragment): SumFragment {
    return this.#scope.k.multiplyMatrices("f16", elementAt(this.#query, step), keys, sum);
  }

  /** Turns the products with the keys of `positions`, eight after eight, into weights. */
  weigh(products: readonly SumFragment[], positions: ScoredPositions): void {
    const { k } = this.#scope;
    const own = k.mad(this.#lane.part, 2, positions.first);
    const weights = products.map((): F32[] => []);
    for (const [r, row] of this.#rows.entries()) {
      const scores = this.#scores(
        row,
        products.flatMap((sums) => [elementAt(sums, 2 * r), elementAt(sums, 2 * r + 1)]),
        own,
        positions,
      );
      this.#raiseMaximum(
        r,
        scores.reduce((a, b) => k.max(a, b)),
      );
      const maximum = row.maximum.get();
      const exponentials = scores.map((score) => k.exp2(k.sub(score, maximum)));
      row.total.set(exponentials.reduce((a, b) => k.add(a, b), row.total.get()));
      for (const [i, each] of exponentials.entries()) elementAt(weights, i >> 1).push(each);
    }
    const words = weights.map((each) => [0, 2].map((i) => k.roundPair("f16", elementAt(each, i), elementAt(each, i + 1))) as [U32, U32]);
    this.#weights = Array.from({ length: words.length / 2 }, (_, i) => [...elementAt(words, 2 * i), ...elementAt(words, 2 * i + 1)]);
  }

  /** Scores of a row in the lane's columns, as powers of two; minus infinity where it does not see the position. */
  #scores(row: RowState, products: readonly F32[], own: U32, { isWhole, isStored }: ScoredPositions): readonly F32[] {
    const { k } = this.#scope;
    const distance = row.position && k.sub(k.convert("f32", own), row.position);
    const scores = products.map((product, column) => this.#score(row, product, distance && k.add(distance, offsetOf(column))));
    const fromLow = k.sub(own, row.low);
    const masked = (column: number): F32 => {
      const isSeen = k.compare("lt", k.add(fromLow, offsetOf(column)), row.seen);
      return k.select(k.both(isSeen, isStored(column)), elementAt(scores, column), k.constant("f32", Number.NEGATIVE_INFINITY));
    };
    if (isWhole === undefined) return scores.map((_, column) => masked(column));
    const variables = scores.map((score) => k.variable("f32", score));
    k.if(k.not(isWhole), () => {
      for (const [column, each] of variables.entries()) each.set(masked(column));
    });
    return variables.map((each) => each.get());
  }

  #score(row: RowState, product: F32, distance: F32 | undefined): F32 {
    const { k } = this.#scope;
    const { softcap } = this.#params;
    let score = k.mul(product, row.factor);
    if (softcap !== 0) {
      // softcap * tanh(x) = softcap - softcap * 2 / (e^2x + 1)
      const share = k.exp2(k.sub(k.constant("f32", 1), k.log2(k.add(k.exp2(score), 1))));
      score = k.fma(share, -softcap * Math.LOG2E, k.constant("f32", softcap * Math.LOG2E));
    }
    return row.slope === undefined || distance === undefined ? score : k.fma(row.slope, distance, score);
  }

  /** Makes a row's weights relative to a larger maximum, if a score exceeds the present one by much. All lanes of the warp must take part. */
  #raiseMaximum(r: number, largest: F32): void {
    const { k } = this.#scope;
    const { maximum, total } = elementAt(this.#rows, r);
    const withNext = k.max(largest, k.shuffleXor(largest, 1));
    const top = k.max(withNext, k.shuffleXor(withNext, 2));
    const before = maximum.get();
    k.if(k.compare("gt", top, k.add(before, slack)), () => {
      const kept = k.exp2(k.sub(before, top));
      maximum.set(top);
      total.set(k.mul(total.get(), kept));
      for (const sums of this.#outputs.flat()) for (const sum of sums.slice(2 * r, 2 * r + 2)) sum.set(k.mul(sum.get(), kept));
    });
  }

  /** Adds a piece of 16 values, step `step` of those that were weighed, to the outputs. */
  addValues(step: number, piece: number, values: readonly RightFragment[]): void {
    const { k } = this.#scope;
    for (const [i, value] of values.entries()) {
      const sums = elementAt(elementAt(this.#outputs, piece), i);
      const [a, b, c, d] = sums.map((sum) => sum.get()) as [F32, F32, F32, F32];
      const added = k.multiplyMatrices("f16", elementAt(this.#weights, step), value, [a, b, c, d]);
      for (const [j, sum] of sums.entries()) sum.set(elementAt(added, j));
    }
  }

  /** The maximum and the sum of weights of the lane's row `r`, 0 or 1. All lanes of the warp must take part. */
  finish(r: number): { readonly maximum: F32; readonly total: F32 } {
    const { k } = this.#scope;
    const { maximum, total } = elementAt(this.#rows, r);
    const withNext = k.add(total.get(), k.shuffleXor(total.get(), 1));
    return { maximum: maximum.get(), total: k.add(withNext, k.shuffleXor(withNext, 2)) };
  }

  /** The lane's outputs of its row `r`: neighbours from element `first` on, relative to the maximum. */
  outputs(r: number): readonly { readonly first: U32; readonly values: readonly F32[] }[] {
    const { k } = this.#scope;
    return this.#valuePieces.flatMap(({ first, count }, piece) =>
      [0, 1].map((column) => ({
        first: k.mad(this.#lane.part, 2 * count, k.constant("u32", first + column * count)),
        values: elementAt(this.#outputs, piece).map((sums) => elementAt(sums, 2 * r + column).get()),
      })),
    );
  }
}

/** Positions from the lane's first column to a column of it. */
function offsetOf(column: number): number {
  return 8 * (column >> 1) + (column & 1);
}

/** A row's pieces, rounded to f16 after they are multiplied by a power of two, and its inverse. */
function loadQuery(
  { k }: Scope,
  { heads, keyWidth }: AttentionSizes,
  { token, head }: QueryRow,
  pieces: readonly Piece[],
  lane: Lane,
): { readonly words: readonly U32[]; readonly inverse: F32 } {
  const row = k.mul(k.mad(token, heads, head), keyWidth);
  const values = pieces.flatMap(({ first, stride, count }) => {
    const from = k.at("f32", k.pointer("q", "f32"), k.mad(lane.part, stride, row));
    return Array.from({ length: count / 4 }, (_, i) => k.ldVector("f32", from, first + 4 * i)).flat();
  });
  const own = values.map((value) => k.abs(value)).reduce((a, b) => k.max(a, b));
  const withNext = k.max(own, k.shuffleXor(own, 1));
  const largest = k.max(withNext, k.shuffleXor(withNext, 2));
  const { factor, inverse } = halfScale(k, largest);
  const scaled = values.map((value) => k.mul(value, factor));
  const words = Array.from({ length: scaled.length / 2 }, (_, i) =>
    k.roundPair("f16", elementAt(scaled, 2 * i), elementAt(scaled, 2 * i + 1)),
  );
  return { words, inverse };
}
