import {
  type Expr,
  type FunctionBuilder,
  f32,
  f32x4,
  f64,
  f64x2,
  i32,
  type Local,
  type ModuleBuilder,
  type V128,
  v128,
} from "../../emit/index.ts";
import type { Kernel, ParamsOf } from "../../kernel.ts";
import { axisView, rowChunks } from "./axes.ts";
import { storeLanes } from "./loops.ts";

/** Elements that are added in f32 before the sum goes to an f64: 64 per lane. */
const block = 1024;

/** The two upper lanes as the two lower ones. */
export function upperHalf(x: V128): V128 {
  return f32x4.shuffle(x, x, [2, 3, 2, 3]);
}

/**
 * Sum in f64 of `count` terms, four at a time from `vector(offset)` and the last ones from `scalar()`, with `advance(elements)`
 * in between. Blocks are added in 16 f32 sums. `count` ends at 0.
 */
export function blockSum(
  f: FunctionBuilder,
  count: Local<"i32">,
  vector: (offset: number) => V128,
  scalar: () => Expr<"f32">,
  advance: (elements: number) => void,
): Local<"f64"> {
  const total = f.let(f64.const(0));
  const left = f.local("i32");
  const sums = f.locals("v128", 4);
  f.while(i32.geU(count, 16), () => {
    for (const sum of sums) f.set(sum, v128.zero());
    f.set(left, i32.select(i32.ltU(count, block), i32.and(count, -16), block));
    f.set(count, i32.sub(count, left));
    f.while(left, () => {
      sums.forEach((sum, i) => void f.set(sum, f32x4.add(sum, vector(16 * i))));
      advance(16);
      f.advance(left, -16);
    });
    const [s0, s1, s2, s3] = sums;
    f.set(s0!, f32x4.add(f32x4.add(s0!, s1!), f32x4.add(s2!, s3!)));
    const pair = f.let(f64x2.add(f64x2.promoteLowF32x4(s0!), f64x2.promoteLowF32x4(upperHalf(s0!))));
    f.set(total, f64.add(total, f64.add(f64x2.extract(pair, 0), f64x2.extract(pair, 1))));
  });
  f.while(count, () => {
    f.set(total, f64.add(total, f64.fromF32(scalar())));
    advance(1);
    f.advance(count, -1);
  });
  return total;
}

/** Emits `sum.rows` and `sum.columns`; `divisor` makes a mean of them. */
export function emitSum(module: ModuleBuilder): void {
  const rowsSignature = { x: "i32", y: "i32", rows: "i32", n: "i32", divisor: "f64" } as const;
  module.function("sum.rows", rowsSignature, (f, { x, y, rows, n, divisor }) => {
    const count = f.local("i32");
    f.while(rows, () => {
      f.set(count, n);
      const total = blockSum(
        f,
        count,
        (offset) => v128.load(x, offset),
        () => f32.load(x),
        (elements) => f.advance(x, 4 * elements),
      );
      f.store(y, f32.fromF64(f64.div(total, divisor)));
      f.advance(y, 4);
      f.advance(rows, -1);
    });
  });
  const signature = { x: "i32", y: "i32", outer: "i32", n: "i32", inner: "i32", divisor: "f64" } as const;
  module.function("sum.columns", signature, (f, { x, y, outer, n, inner, divisor }) => {
    forEachColumns(f, { x, y, outer, n, inner }, (at, stride, count) => {
      const [low, high] = [f.let(v128.zero()), f.let(v128.zero())];
      const value = f.local("v128");
      f.while(count, () => {
        f.set(value, v128.load(at));
        f.set(low, f64x2.add(low, f64x2.promoteLowF32x4(value)));
        f.set(high, f64x2.add(high, f64x2.promoteLowF32x4(upperHalf(value))));
        f.advance(at, stride);
        f.advance(count, -1);
      });
      const lanes = [low, high].flatMap((pair) => [0, 1].map((lane) => f32.fromF64(f64.div(f64x2.extract(pair, lane), divisor))));
      const result = f.let(f32x4.splat(lanes[0]!));
      for (let lane = 1; lane < 4; lane++) f.set(result, f32x4.shuffle(result, f32x4.splat(lanes[lane]!), laneOrder(lane)));
      return result;
    });
  });
}

function laneOrder(lane: number): readonly [number, number, number, number] {
  const order: [number, number, number, number] = [0, 1, 2, 3];
  order[lane] = 4;
  return order;
}

/**
 * Walks `x [outer, n, inner]` by groups of four columns and stores what `body` makes of each in `y [outer, inner]`. `body` gets a
 * pointer to the group's first row, the bytes between rows and `n`; it may change the first and the last.
 */
export function forEachColumns(
  f: FunctionBuilder,
  { x, y, outer, n, inner }: Readonly<Record<"x" | "y" | "outer" | "n" | "inner", Local<"i32">>>,
  body: (at: Local<"i32">, stride: Local<"i32">, count: Local<"i32">) => Local<"v128">,
): void {
  const stride = f.let(i32.shl(inner, 2));
  const [at, count, left] = [f.local("i32"), f.local("i32"), f.local("i32")];
  const plane = f.let(i32.mul(n, stride));
  const column = f.local("i32");
  f.while(outer, () => {
    f.set(left, inner);
    f.set(column, x);
    f.while(left, () => {
      f.set(at, column);
      f.set(count, n);
      storeLanes(f, y, body(at, stride, count), left);
      f.advance(column, 16);
      f.set(y, i32.add(y, i32.shl(i32.select(i32.ltU(left, 4), left, 4), 2)));
      f.set(left, i32.select(i32.gtU(left, 4), i32.sub(left, 4), 0));
    });
    f.advance(x, plane);
    f.advance(outer, -1);
  });
}

/** `sum` and `mean`. */
export function sumKernel(isMean: boolean): Kernel<ParamsOf<"sum">> {
  return {
    emit(module) {
      if (!isMean) emitSum(module);
    },
    build({ exports }, [x], { axis }, y) {
      const [rows, columns] = [exports("sum.rows"), exports("sum.columns")];
      return (run) => {
        const { outer, n, inner } = axisView(run.shape(x!), axis);
        const [from, to, divisor] = [run.address(x!), run.address(y), isMean ? n : 1];
        if (inner === 0) return undefined;
        return rowChunks(outer, n * inner, (first, count) => {
          if (inner === 1) rows(from + 4 * first * n, to + 4 * first, count, n, divisor);
          else columns(from + 4 * first * n * inner, to + 4 * first * inner, count, n, inner, divisor);
        });
      };
    },
  };
}
