import { elementAt } from "@centella/core/backend";
import type { Bool, F32, I32, U32 } from "@centella/gpu-kernels";
import type { SumFragment } from "../../ptx/matrix.ts";
import type { Var } from "../../ptx/writer.ts";
import type { Scope } from "../shared/kernel.ts";
import { type AttentionParams, type AttentionSizes, alibiDistance, slopeOf, type TokenQuery } from "./problem.ts";

/** Below every score, and finite: its difference to a score that does not count is one, not NaN. */
export const noMaximum = -1e30;

/** Scores may exceed the maximum that weights are relative to by this power of two, before the outputs are scaled again. */
const slack = 8;

/** A head of a token: one row of a tile. */
export interface QueryRow extends TokenQuery {
  readonly token: U32;
  readonly head: U32;
}

/** A row whose softmax starts. */
interface SoftmaxRow {
  readonly head: U32;
  readonly position: I32;
  /** The positions that it sees: `seen` of them from `low` on. */
  readonly low: U32;
  readonly seen: U32;
  /** What products with the row's query are multiplied by. */
  readonly inverse: F32;
}

/** Rows that a lane keeps: its row of the first eight, and that of the others. */
type LaneRows = 1 | 2;

/** A number of each thread. */
interface ThreadNumber {
  get(): U32;
  set(value: U32): void;
}

interface SoftmaxForm {
  /** Default: 2. */
  readonly rowCount?: LaneRows;
  /**
   * Number of threads, if they keep the positions that their rows see in shared memory. Only stages with masked positions read them. Default: 0, they are
   * in registers.
   */
  readonly rangeThreads?: number;
}

/** What the lane keeps of one of its rows. */
interface RowState {
  /** Turns products into scores, as powers of two; with a soft cap into the exponent of its tanh. */
  readonly factor: Var<"f32">;
  readonly slope: Var<"f32"> | undefined;
  readonly position: Var<"f32"> | undefined;
  /** First position that the row sees. Without a window, 0. */
  readonly low: ThreadNumber | undefined;
  readonly seen: ThreadNumber;
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

/**
 * The softmaxes of sixteen rows of queries over positions that are added one after the other. A lane keeps two of the rows, or one where only the
 * first eight are of use.
 */
export class RowSoftmaxes {
  readonly #scope: Scope;
  readonly #params: AttentionParams;
  /** The lane's part of a row of scores: it has columns 2 * part and 2 * part + 1 of each eight. */
  readonly #part: U32;
  readonly #heads: number;
  readonly #rows: readonly RowState[];

  constructor(
    scope: Scope,
    { params, sizes }: { readonly params: AttentionParams; readonly sizes: AttentionSizes },
    part: U32,
    { rowCount = 2, rangeThreads = 0 }: SoftmaxForm = {},
  ) {
    const { k } = scope;
    this.#scope = scope;
    this.#params = params;
    this.#part = part;
    this.#heads = sizes.heads;
    const bias = (): Var<"f32"> | undefined => (params.alibi === 0 ? undefined : k.variable("f32", 0));
    const number = (): ThreadNumber => (rangeThreads === 0 ? k.variable("u32", 0) : ownNumber(scope, rangeThreads));
    this.#rows = Array.from({ length: rowCount }, () => ({
      factor: k.variable("f32", 0),
      slope: bias(),
      position: bias(),
      low: params.window === 0 ? undefined : number(),
      seen: number(),
      maximum: k.variable("f32", noMaximum),
      total: k.variable("f32", 0),
    }));
  }

  get rowCount(): number {
    return this.#rows.length;
  }

  /** Starts the softmaxes of the lane's rows. */
  start(rows: readonly SoftmaxRow[]): void {
    const { k } = this.#scope;
    const { scale, softcap } = this.#params;
    for (const [r, { head, position, low, seen, inverse }] of rows.entries()) {
      const row = elementAt(this.#rows, r);
      row.factor.set(k.mul(inverse, scale * Math.LOG2E * (softcap === 0 ? 1 : 2 / softcap)));
      const slope = slopeOf(this.#scope, this.#params, this.#heads, head);
      if (slope !== undefined) {
        row.slope?.set(k.mul(slope, Math.LOG2E));
        row.position?.set(k.convert("f32", position));
      }
      row.low?.set(low);
      row.seen.set(seen);
      row.maximum.set(noMaximum);
      row.total.set(0);
    }
  }

  /**
   * Turns products with the keys of `positions`, eight after eight, into weights relative to a maximum. When a maximum rises, `scaleOutputs` gets the
   * factor by which earlier weights of row `r` become less, for each row. All lanes of the warp must take part.
   */
  weigh(
    products: readonly SumFragment[],
    positions: ScoredPositions,
    scaleOutputs: (r: number, factor: F32) => void,
  ): readonly SumFragment[] {
    const { k } = this.#scope;
    const scores = this.#scores(products, positions);
    const largest = scores.map((each) => reduced(each, (a, b) => k.max(a, b)));
    this.#raiseMaxima(largest, scaleOutputs);
    const weights = this.#rows.map((row, r) => {
      const below = k.neg(row.maximum.get());
      const factor = row.factor.get();
      const exponentials = elementAt(scores, r).map((score) => k.exp2(this.#isLinear ? k.fma(score, factor, below) : k.add(score, below)));
      const sum = reduced(exponentials, (a, b) => k.add(a, b));
      row.total.set(k.add(row.total.get(), sum));
      return exponentials;
    });
    const zero = k.constant("f32", 0);
    const weight = (r: number, column: number): F32 => (r < weights.length ? elementAt(elementAt(weights, r), column) : zero);
    return products.map((_, i) => [weight(0, 2 * i), weight(0, 2 * i + 1), weight(1, 2 * i), weight(1, 2 * i + 1)]);
  }

  /** Whether scores are the products times a positive factor, which then is applied together with the maximum. */
  get #isLinear(): boolean {
    const { scale, softcap, alibi } = this.#params;
    return scale > 0 && softcap === 0 && alibi === 0;
  }

  /**
   * Scores of each row in the lane's columns, as powers of two, or products if scores are linear; minus infinity where it does not see the position.
   */
  #scores(products: readonly SumFragment[], { first, isWhole, isStored }: ScoredPositions): readonly (readonly F32[])[] {
    const { k } = this.#scope;
    const own = k.mad(this.#part, 2, first);
    const scores = this.#rows.map((row, r) => {
      const distance = row.position && k.sub(k.convert("f32", own), row.position.get());
      return products
        .flatMap((sums) => [elementAt(sums, 2 * r), elementAt(sums, 2 * r + 1)])
        .map((product, column) => {
          return this.#score(row, product, distance && alibiDistance(this.#scope, this.#params, k.add(distance, offsetOf(column))));
        });
    });
    const masked = (r: number): readonly F32[] => {
      const row = elementAt(this.#rows, r);
      const [fromLow, seen] = [row.low === undefined ? own : k.sub(own, row.low.get()), row.seen.get()];
      return elementAt(scores, r).map((score, column) => {
        const isSeen = k.compare("lt", k.add(fromLow, offsetOf(column)), seen);
        return k.select(k.both(isSeen, isStored(column)), score, k.constant("f32", Number.NEGATIVE_INFINITY));
      });
    };
    if (isWhole === undefined) return scores.map((_, r) => masked(r));
    const variables = scores.map((each) => each.map((score) => k.variable("f32", score)));
    k.if(k.not(isWhole), () => {
      for (const [r, each] of variables.entries()) for (const [column, score] of masked(r).entries()) elementAt(each, column).set(score);
    });
    return variables.map((each) => each.map((score) => score.get()));
  }

  #score(row: RowState, product: F32, distance: F32 | undefined): F32 {
    if (this.#isLinear) return product;
    const { k } = this.#scope;
    const { softcap } = this.#params;
    let score = k.mul(product, row.factor.get());
    if (softcap !== 0) {
      // softcap * tanh(x) = softcap - softcap * 2 / (e^2x + 1)
      const share = k.exp2(k.sub(k.constant("f32", 1), k.log2(k.add(k.exp2(score), 1))));
      score = k.fma(share, -softcap * Math.LOG2E, k.constant("f32", softcap * Math.LOG2E));
    }
    return row.slope === undefined || distance === undefined ? score : k.fma(row.slope.get(), distance, score);
  }

  /** Makes the weights of the warp's rows relative to larger maxima, if a score exceeds a present one by much. */
  #raiseMaxima(largest: readonly F32[], scaleOutputs: (r: number, factor: F32) => void): void {
    const { k } = this.#scope;
    const before = this.#rows.map(({ maximum }) => maximum.get());
    let tops = largest.map((each, r) => (this.#isLinear ? k.mul(each, elementAt(this.#rows, r).factor.get()) : each));
    for (const mask of [1, 2]) tops = tops.map((top) => k.max(top, k.shuffleXor(top, mask)));
    const isHigher = tops.map((top, r) => k.compare("gt", top, k.add(elementAt(before, r), slack))).reduce((a, b) => k.either(a, b));
    k.if(k.anyLane(isHigher), () => {
      for (const [r, { maximum, total }] of this.#rows.entries()) {
        const top = k.max(elementAt(tops, r), elementAt(before, r));
        const kept = k.exp2(k.sub(elementAt(before, r), top));
        maximum.set(top);
        total.set(k.mul(total.get(), kept));
        scaleOutputs(r, kept);
      }
    });
  }

  /** The maximum and the sum of weights of the lane's row `r`. All lanes of the warp must take part. */
  finish(r: number): { readonly maximum: F32; readonly total: F32 } {
    const { k } = this.#scope;
    const { maximum, total } = elementAt(this.#rows, r);
    const withNext = k.add(total.get(), k.shuffleXor(total.get(), 1));
    return { maximum: maximum.get(), total: k.add(withNext, k.shuffleXor(withNext, 2)) };
  }
}

/** A number of each of the first `threads` threads, in shared memory. */
function ownNumber({ k }: Scope, threads: number): ThreadNumber {
  const numbers = k.sharedMemory("u32", threads);
  return {
    get: () => k.ld("u32", k.sharedAt("u32", numbers, k.thread())),
    set: (value) => k.st("u32", k.sharedAt("u32", numbers, k.thread()), value),
  };
}

/** Combines values in four chains: shorter than one chain, with few partial results at a time. */
function reduced(values: readonly F32[], combine: (a: F32, b: F32) => F32): F32 {
  const chains = Array.from({ length: Math.min(4, values.length) }, (_, i) => values.filter((_, j) => j % 4 === i).reduce(combine));
  return chains.reduce(combine);
}

/** Positions from the lane's first column to a column of it. */
function offsetOf(column: number): number {
  return 8 * (column >> 1) + (column & 1);
}
