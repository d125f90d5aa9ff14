import { mapTuple, type Tuple, tupleOf } from "@centella/core/backend";
import { type FunctionBuilder, f32x4, f64x2, type Local, type V128, v128 } from "../../emit/index.ts";
import { extremumBulk } from "./extremum.ts";
import type { Fold, Pair, Single, State, VectorStates } from "./foldTypes.ts";
import { zip } from "./zip.ts";

/** A fold with one instruction, starting at its neutral element. */
function simple(lanes: Fold["lanes"], neutral: Fold["none"], start: Fold["none"], combine: (a: V128, b: V128) => V128): Fold<Single> {
  const step = (f: FunctionBuilder, [state]: Single, x: V128): void => f.set(state, combine(state, x));
  return {
    lanes,
    vectors: 1,
    none: neutral,
    locals: (f) => f.locals("v128", 1),
    start: (f) => [start(f)],
    step,
    merge: (f, state, [other]) => step(f, state, other),
  };
}

/**
 * The largest or smallest value, and whether there was a NaN. On x86, minimum and maximum that propagate NaN take nine
 * instructions; these take three. `best` keeps its first argument if the second is NaN.
 */
function extremum(start: number, best: (a: V128, b: V128) => V128): Fold<Pair> {
  return {
    bulk: extremumBulk(start < 0),
    lanes: "single",
    vectors: 2,
    none: (f) => f.splat(start),
    locals: (f) => f.locals("v128", 2),
    start: (f) => [f.splat(start), v128.zero()],
    step(f, [state, hasNaN], x) {
      f.set(state, best(state, x));
      f.set(hasNaN, v128.or(hasNaN, f32x4.ne(x, x)));
    },
    merge(f, [state, hasNaN], [other, otherNaN]) {
      f.set(state, best(state, other));
      f.set(hasNaN, v128.or(hasNaN, otherNaN));
    },
  };
}

/** Result of {@link folds.max} and `min`. */
export function orNaN(f: FunctionBuilder, [state, hasNaN]: Pair): V128 {
  return v128.bitselect(hasNaN, f.splat(Number.NaN), state);
}

const doubleOne = new Uint8Array(new Float64Array([1, 1]).buffer);

const infinity = Number.POSITIVE_INFINITY;

export const folds: Readonly<Record<"sum" | "prod" | "any" | "all", Fold<Single>> & Record<"max" | "min" | "kahan", Fold<Pair>>> = {
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
    locals: (f) => f.locals("v128", 2),
    start: () => [v128.zero(), v128.zero()],
    step: compensated,
    merge(f, state, [sum, lost]) {
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
export function freshStates<S extends State, N extends number>(f: FunctionBuilder, fold: Fold<S>, count: N): Tuple<S, N> {
  return tupleOf(
    Array.from({ length: count }, () => freshState(f, fold)),
    count,
  );
}

/** New states for `count` vectors of elements, at their start values. */
export function freshVectors<S extends State, N extends number>(f: FunctionBuilder, fold: Fold<S>, count: N): Tuple<VectorStates<S>, N> {
  const isDouble = fold.lanes === "double";
  const vectors = Array.from({ length: count }, () => (isDouble ? freshStates(f, fold, 2) : freshStates(f, fold, 1)));
  return tupleOf(vectors, count);
}

function freshState<S extends State>(f: FunctionBuilder, fold: Fold<S>): S {
  const values = fold.start(f);
  const state = fold.locals(f);
  for (const [local, value] of zip<Local<"v128">, V128>(state, values)) f.set(local, value);
  return state;
}

/** Resets states to their start values. */
export function restart(f: FunctionBuilder, fold: Fold, states: readonly State[]): void {
  for (const state of states) for (const [local, value] of zip<Local<"v128">, V128>(state, fold.start(f))) f.set(local, value);
}

/** Adds four elements. */
export function addVector<S extends State>(f: FunctionBuilder, fold: Fold<S>, [low, high]: VectorStates<S>, x: Local<"v128">): void {
  if (high === undefined) {
    fold.step(f, low, x);
    return;
  }
  fold.step(f, low, f.let(f64x2.promoteLowF32x4(x)));
  fold.step(f, high, f.let(f64x2.promoteLowF32x4(f32x4.shuffle(x, x, [2, 3, 2, 3]))));
}

/** Results of four elements from their states. */
export function vectorResult<S extends State>(f: FunctionBuilder, states: VectorStates<S>, result: (state: S) => V128): V128 {
  const [low, high] = mapTuple(states, result);
  return high === undefined ? low : f.let(f32x4.shuffle(f32x4.demoteF64x2(low), f32x4.demoteF64x2(high), [0, 1, 4, 5]));
}

/** Merges states and their lanes into the first lane of the first state. */
export function mergeStates<S extends State>(f: FunctionBuilder, fold: Fold<S>, states: readonly S[]): S {
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
  for (const order of orders) {
    const turned = fold.locals(f);
    for (const [local, vector] of zip<Local<"v128">, Local<"v128">>(turned, first)) f.set(local, f32x4.shuffle(vector, vector, order));
    fold.merge(f, first, turned);
  }
  return first;
}
