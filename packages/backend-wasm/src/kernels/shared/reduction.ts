import type { DType } from "@centella/core";
import type { Operand } from "@centella/core/backend";
import { bytesOf, loadLanes, storeLanes, storeSome } from "../../elementwise/lanes.ts";
import { type FunctionBuilder, f32x4, f64x2, i32, type Local, type ModuleBuilder, type V128, v128 } from "../../emit/index.ts";
import type { Emitted, Kernel, Range, Run } from "../../kernel.ts";
import { laneMask } from "../../matmul/lanes.ts";
import { axisView, ranges } from "./axes.ts";
import { addVector, freshVectors, mergeStates, restart, vectorResult } from "./fold.ts";
import type { Fold, State } from "./foldTypes.ts";
import { blockSum } from "./sum.ts";

/** A reduction of f32 or bool along an axis or over all elements. */
export interface Reduction<S extends State = State> {
  readonly fold: Fold<S>;
  /** Applied to four elements before the fold. It must not write locals: blocks keep eight sums in registers. */
  readonly map?: (f: FunctionBuilder, x: V128) => V128;
  /** Result of a folded state over `count` elements, as two f64 or four lanes. By default the state's first vector. */
  finish?(f: FunctionBuilder, state: S, count: V128): V128;
  /** Rows are added in blocks of f32: exact enough, and four times as fast. */
  readonly inBlocks?: boolean;
}

/** Absolute values of four elements. */
export function magnitudes(f: FunctionBuilder, x: V128): V128 {
  // V8 rebuilds the mask of `f32x4.abs` at every use.
  return v128.and(x, f.splatBits(0x7fffffff));
}

/** Vectors per iteration over rows. */
const unrolled = 4;
/** Columns per unit: a cache line of f32. */
const strip = 16;

/**
 * Runs over `x [outer, n, inner]` around an axis: `rows` if the axis is the last one, otherwise `columns` (see
 * {@link forEachStrip}). Both take `(x, y, n, inner, …extra, begin, end)`.
 */
export function alongAxis(
  rows: Emitted,
  columns: Emitted,
  x: Operand,
  y: Operand,
  axis: number | null,
  extra: (n: number) => readonly number[] = () => [],
): (run: Run) => readonly Range[] {
  return (run) => {
    const { outer, n, inner } = axisView(run.shape(x), axis);
    const args = [run.address(x), run.address(y), n, inner, ...extra(n)];
    return inner === 1 ? ranges(rows, args, outer, n) : ranges(columns, args, outer * Math.ceil(inner / strip), n * strip);
  };
}

const signature = { x: "i32", y: "i32", n: "i32", inner: "i32", count: "f64", begin: "i32", end: "i32" } as const;
type P = { readonly [K in keyof typeof signature]: Local<(typeof signature)[K]> };

export function reductionKernel<S extends State>(name: string, reduction: Reduction<S>, dtype: "f32" | "bool" = "f32"): Kernel<"sum"> {
  const stateBytes = 16 * reduction.fold.vectors;
  return {
    build(context, [x], { axis }, y) {
      const { emit } = context;
      const rows = emit(`${name}.rows`, (module, called) => emitRows(module, called, reduction, dtype));
      const columns = emit(`${name}.columns`, (module, called) => emitColumns(module, called, reduction, dtype));
      const most = axisView(context.max(x).shape, axis);
      const isLong = most.n > part;
      const parts = isLong ? emit(`${name}.parts`, (module, called) => emitParts(module, called, reduction, dtype)) : rows;
      const merge = isLong ? emit(`${name}.merge`, (module, called) => emitMerge(module, called, reduction, dtype)) : rows;
      if (isLong) context.reserve(stateBytes * most.outer * Math.ceil(most.n / part));
      const whole = alongAxis(rows, columns, x, y, axis, (n) => [n]);
      return (run) => {
        const { outer, n, inner } = axisView(run.shape(x), axis);
        if (inner > 1 || n <= part) return whole(run);
        const [from, to] = [run.address(x), run.address(y)];
        const count = Math.ceil(n / part);
        return [
          ...ranges(parts, [from, run.scratch, n, count], outer * count, part),
          ...ranges(merge, [run.scratch, to, count, n], outer, count),
        ];
      };
    },
  };
}

/** Elements of a part of a long row. Threads share the parts; how a row is cut depends only on its extent. */
const part = 1 << 17;

/** Returns an emitter that folds the next `left` elements at `at` and returns the merged state. */
function emitFold(f: FunctionBuilder, reduction: Reduction, dtype: DType): (at: Local<"i32">, left: Local<"i32">) => State {
  const { fold, map = (_f, value) => value } = reduction;
  const size = bytesOf(dtype);
  if (reduction.inBlocks === true) {
    return (at, left) => [
      f.let(
        f64x2.splat(
          blockSum(
            f,
            left,
            (offset) => map(f, v128.load(at, offset)),
            () => f32x4.extract(map(f, v128.load32Splat(at)), 0),
            (elements) => f.advance(at, 4 * elements),
            8,
          ),
        ),
      ),
    ];
  }
  const vectors = freshVectors(f, fold, unrolled);
  const [first] = vectors;
  const states = vectors.flat();
  return (at, left) => {
    restart(f, fold, states);
    if (dtype === "f32") fold.bulk?.(f, first[0], (offset) => map(f, v128.load(at, offset)), at, left);
    f.while(i32.geU(left, 4 * unrolled), () => {
      for (const [i, vector] of vectors.entries()) addVector(f, fold, vector, f.let(map(f, loadLanes(f, dtype, at, 4 * size * i))));
      f.advance(at, 4 * unrolled * size);
      f.advance(left, -4 * unrolled);
    });
    f.while(left, () => {
      const value = map(f, loadLanes(f, dtype, at));
      addVector(f, fold, first, f.let(v128.bitselect(laneMask(f, left), value, fold.none(f))));
      f.advance(at, 4 * size);
      f.countDown(left, 4);
    });
    return mergeStates(f, fold, states);
  };
}

function emitRows(module: ModuleBuilder, name: string, reduction: Reduction, dtype: DType): void {
  module.function(name, signature, (f, { x, y, n, count, begin, end }) => {
    const size = bytesOf(dtype);
    const rowBytes = f.let(i32.mul(n, size));
    const [row, left, at] = f.locals("i32", 3);
    const foldNext = emitFold(f, reduction, dtype);
    const divisor = f.let(f64x2.splat(count));
    f.advance(x, i32.mul(begin, rowBytes));
    f.advance(y, i32.mul(begin, size));
    f.for(row, begin, end, 1, () => {
      f.set(left, n);
      f.set(at, x);
      finish(f, reduction, dtype, foldNext(at, left), divisor, y);
      f.advance(x, rowBytes);
      f.advance(y, size);
    });
  });
}

/** `(x, states, n, parts, begin, end)`: folds parts, counted over all rows of `n`, to states. */
function emitParts(module: ModuleBuilder, name: string, reduction: Reduction, dtype: DType): void {
  const partSignature = { x: "i32", states: "i32", n: "i32", parts: "i32", begin: "i32", end: "i32" } as const;
  module.function(name, partSignature, (f, { x, states, n, parts, begin, end }) => {
    const [left, at, first] = f.locals("i32", 3);
    const foldNext = emitFold(f, reduction, dtype);
    f.while(i32.ltU(begin, end), () => {
      f.set(first, i32.mul(i32.remU(begin, parts), part));
      f.set(left, i32.sub(n, first));
      f.set(left, i32.select(i32.ltU(left, part), left, part));
      f.set(at, i32.add(x, i32.mul(i32.add(i32.mul(i32.divU(begin, parts), n), first), bytesOf(dtype))));
      const state = foldNext(at, left);
      const to = f.let(i32.add(states, i32.mul(begin, 16 * state.length)));
      state.forEach((vector, i) => void f.store(to, vector, 16 * i));
      f.advance(begin, 1);
    });
  });
}

/**
 * `(states, y, parts, count, begin, end)`: merges the states of each row's parts in order and stores the results of
 * rows of `count` elements.
 */
function emitMerge(module: ModuleBuilder, name: string, reduction: Reduction, dtype: DType): void {
  const mergeSignature = { states: "i32", y: "i32", parts: "i32", count: "f64", begin: "i32", end: "i32" } as const;
  module.function(name, mergeSignature, (f, { states, y, parts, count, begin, end }) => {
    const { fold } = reduction;
    const { vectors } = fold;
    const [state, other] = [fold.locals(f), fold.locals(f)];
    const left = f.local("i32");
    const divisor = f.let(f64x2.splat(count));
    const next = (to: readonly Local<"v128">[]): void => {
      to.forEach((vector, i) => void f.set(vector, v128.load(states, 16 * i)));
      f.advance(states, 16 * vectors);
    };
    f.advance(states, i32.mul(i32.mul(begin, parts), 16 * vectors));
    f.advance(y, i32.mul(begin, bytesOf(dtype)));
    f.while(i32.ltU(begin, end), () => {
      next(state);
      f.set(left, i32.sub(parts, 1));
      f.while(left, () => {
        next(other);
        fold.merge(f, state, other);
        f.advance(left, -1);
      });
      finish(f, reduction, dtype, state, divisor, y);
      f.advance(y, bytesOf(dtype));
      f.advance(begin, 1);
    });
  });
}

function i32x4First(value: Local<"v128">) {
  return i32.reinterpret(f32x4.extract(value, 0));
}

/** Stores the result of a state, one element. */
function finish(
  f: FunctionBuilder,
  { fold, finish: last = (_f, [first]) => first }: Reduction,
  dtype: DType,
  state: State,
  count: V128,
  y: Local<"i32">,
): void {
  const value = f.let(last(f, state, count));
  if (dtype === "bool") f.store8(y, i32.and(i32x4First(value), 1));
  else f.store32Lane(y, fold.lanes === "double" ? f32x4.demoteF64x2(value) : value, 0);
}

/** A unit is a strip of columns at one outer index. */
function emitColumns(module: ModuleBuilder, name: string, reduction: Reduction, dtype: DType): void {
  const { fold, map = (_f, value) => value, finish: last = (_f, [first]) => first } = reduction;
  module.function(name, signature, (f, p) => {
    const divisor = f.let(f64x2.splat(p.count));
    const columns = freshVectors(f, fold, 4);
    forEachStrip(f, p, dtype, (at, stride, vectors, store) => {
      const used = columns.slice(0, vectors);
      restart(f, fold, used.flat());
      const left = f.let(p.n);
      f.while(left, () => {
        for (const [i, vector] of used.entries())
          addVector(f, fold, vector, f.let(map(f, loadLanes(f, dtype, at, 4 * bytesOf(dtype) * i))));
        f.advance(at, stride);
        f.advance(left, -1);
      });
      for (const [i, vector] of used.entries()) {
        store(
          i,
          vectorResult(f, vector, (state) => f.let(last(f, state, divisor))),
        );
      }
    });
  });
}

/**
 * Visits units of `x [outer, n, inner]`: strips of 16 columns as four vectors, the last columns of an outer index as
 * single vectors. `body` gets a pointer to the first row, which it may change, the bytes between rows, and a function
 * that stores a vector of results in `y [outer, inner]`.
 */
export function forEachStrip(
  f: FunctionBuilder,
  { x, y, n, inner, begin, end }: Omit<P, "count">,
  dtype: DType,
  body: (
    at: Local<"i32">,
    stride: Local<"i32">,
    vectors: 1 | 4,
    store: (vector: number, value: V128) => void,
    offset: Local<"i32">,
    left: Local<"i32">,
  ) => void,
): void {
  const size = bytesOf(dtype);
  const stride = f.let(i32.mul(inner, size));
  const strips = f.let(i32.divU(i32.add(inner, strip - 1), strip));
  const [unit, outer, column, at, to, left] = f.locals("i32", 6);
  f.for(unit, begin, end, 1, () => {
    f.set(outer, i32.divU(unit, strips));
    f.set(column, i32.mul(i32.remU(unit, strips), strip));
    f.set(left, i32.sub(inner, column));
    const offset = f.let(i32.add(i32.mul(i32.mul(outer, n), stride), i32.mul(column, size)));
    f.set(to, i32.add(y, i32.mul(i32.add(i32.mul(outer, inner), column), size)));
    f.if(
      i32.geU(left, strip),
      () => {
        f.set(at, i32.add(x, offset));
        body(at, stride, 4, (vector, value) => storeLanes(f, dtype, to, value, 4 * size * vector), offset, left);
      },
      () => {
        f.while(left, () => {
          f.set(at, i32.add(x, offset));
          body(at, stride, 1, (_vector, value) => storeSome(f, dtype, to, value, left), offset, left);
          f.advance(to, 4 * size);
          f.advance(offset, 4 * size);
          f.countDown(left, 4);
        });
      },
    );
  });
}
