import { type FunctionBuilder, f32x4, f64x2, type Local, type V128, v128 } from "../../emit/index.ts";
import { extremumBulk } from "./extremum.ts";
import type { Fold, State } from "./foldTypes.ts";

type Single = readonly [Local<"v128">];
type Pair = readonly [Local<"v128">, Local<"v128">];

/** A fold with one instruction, starting at its neutral element. */
function simple(lanes: Fold["lanes"], neutral: Fold["none"], start: Fold["none"], combine: (a: V128, b: V128) => V128): Fold {
  const step = (f: FunctionBuilder, [state]: Single, x: V128): void => f.set(state, combine(state, x));
  return {
    lanes,
    vectors: 1,
    none: neutral,
    start: (f) => [start(f)],
    step,
    merge: (f, state: Single, [other]: Single) => step(f, state, other),
  };
}

/**
 * The largest or smallest value, and whether there was a NaN. On x86, minimum and maximum that propagate NaN take nine
 * instructions; these take three. `best` keeps its first argument if the second is NaN.
 */
function extremum(start: number, best: (a: V128, b: V128) => V128): Fold {
  return {
    bulk: extremumBulk(start < 0),
    lanes: "single",
    vectors: 2,
    none: (f) => f.splat(start),
    start: (f) => [f.splat(start), v128.zero()],
    step(f, [state, hasNaN]: Pair, x) {
      f.set(state, best(state, x));
      f.set(hasNaN, v128.or(hasNaN, f32x4.ne(x, x)));
    },
    merge(f, [state, hasNaN]: Pair, [other, otherNaN]: Pair) {
      f.set(state, best(state, other));
      f.set(hasNaN, v128.or(hasNaN, otherNaN));
    },
  };
}

/** Result of {@link folds.max} and `min`. */
export function orNaN(f: FunctionBuilder, [state, hasNaN]: State): V128 {
  return v128.bitselect(hasNaN!, f.splat(Number.NaN), state!);
}

const doubleOne = new Uint8Array(new Float64Array([1, 1]).buffer);

const infinity = Number.POSITIVE_INFINITY;

export const folds: Readonly<Record<"sum" | "kahan" | "prod" | "max" | "min" | "any" | "all", Fold>> = {
  sum: simple("double", v128.zero, v128.zero, f64x2.add),
  prod: simple(
    "double",
    (f) => f.splat(1),
    (f) => f.pooled(doubleOne),
    f64x2.mul,
  ),
  max: extremum(-infinity, f32x4.pmax),
  min: extremum(infinity, f32x4.pmin),
  any: simple("single", v128.zero, v128.zero, v128.or),
  all: simple(
    "single",
    (f) => f.splatBits(-1),
    (f) => f.splatBits(-1),
    v128.and,
  ),
  // Neumaier's sum: rounding errors are added up separately.
  kahan: {
    lanes: "double",
    vectors: 2,
    none: v128.zero,
    start: () => [v128.zero(), v128.zero()],
    step: compensated,
    merge(f, state: Pair, [sum, lost]: Pair) {
      compensated(f, state, sum);
      f.set(state[1], f64x2.add(state[1], lost));
    },
  },
};

function compensated(f: FunctionBuilder, [sum, lost]: Pair, x: Local<"v128">): void {
  const next = f.let(f64x2.add(sum, x));
  const isSmaller = f64x2.lt(f64x2.abs(sum), f64x2.abs(x));
  const ofSum = f64x2.add(f64x2.sub(sum, next), x);
  const ofX = f64x2.add(f64x2.sub(x, next), sum);
  f.set(lost, f64x2.add(lost, v128.bitselect(isSmaller, ofX, ofSum)));
  f.set(sum, next);
}

/** New states at their start values. */
export function freshStates(f: FunctionBuilder, fold: Fold, count: number): readonly State[] {
  return Array.from({ length: count }, () => fold.start(f).map((value) => f.let(value)));
}

/** Resets states to their start values. */
export function restart(f: FunctionBuilder, fold: Fold, states: readonly State[]): void {
  for (const state of states) fold.start(f).forEach((value, i) => void f.set(state[i]!, value));
}

/** States per four elements. */
export function statesPerVector({ lanes }: Fold): number {
  return lanes === "double" ? 2 : 1;
}

/** Adds four elements to {@link statesPerVector} states. */
export function addVector(f: FunctionBuilder, fold: Fold, states: readonly State[], x: Local<"v128">): void {
  if (fold.lanes === "single") {
    fold.step(f, states[0]!, x);
    return;
  }
  fold.step(f, states[0]!, f.let(f64x2.promoteLowF32x4(x)));
  fold.step(f, states[1]!, f.let(f64x2.promoteLowF32x4(f32x4.shuffle(x, x, [2, 3, 2, 3]))));
}

/** Merges states and their lanes into the first lane of the first state. */
export function mergeStates(f: FunctionBuilder, fold: Fold, states: readonly State[]): State {
  const [first, ...others] = states;
  if (first === undefined) throw new RangeError("fold: expected states to merge, got none");
  for (const other of others) fold.merge(f, first, other);
  const orders =
    fold.lanes === "double"
      ? ([[2, 3, 0, 1]] as const)
      : ([
          [2, 3, 0, 1],
          [1, 0, 3, 2],
        ] as const);
  for (const order of orders)
    fold.merge(
      f,
      first,
      first.map((vector) => f.let(f32x4.shuffle(vector, vector, order))),
    );
  return first;
}
