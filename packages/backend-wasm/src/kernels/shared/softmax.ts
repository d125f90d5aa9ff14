import { type FunctionBuilder, f32, f32x4, f64, f64x2, i32, type Local, type V128, v128 } from "../../emit/index.ts";
import type { Kernel, ParamsOf } from "../../kernel.ts";
import { expFlushed } from "../../math/exp.ts";
import { log } from "../../math/log.ts";
import { largestLane } from "../../matmul/lanes.ts";
import type { Target } from "../../target.ts";
import { axisView, rowChunks } from "./axes.ts";
import { forEachVector, storeLanes } from "./loops.ts";
import { blockSum, upperHalf } from "./sum.ts";

/** Adds four f32 lanes to two f64 sums. */
export function addPairs(f: FunctionBuilder, sums: readonly Local<"v128">[], value: V128): void {
  const quad = f.let(value);
  f.set(sums[0]!, f64x2.add(sums[0]!, f64x2.promoteLowF32x4(quad)));
  f.set(sums[1]!, f64x2.add(sums[1]!, f64x2.promoteLowF32x4(upperHalf(quad))));
}

/** `softmax` and `logSoftmax`. Sums are in f64: rows can be a vocabulary long. */
export function softmaxKernel(name: "softmax" | "logSoftmax"): Kernel<ParamsOf<"softmax">> {
  const isLog = name === "logSoftmax";
  return {
    emit(module, target) {
      module.function(`${name}.rows`, { x: "i32", y: "i32", rows: "i32", n: "i32" }, (f, p) => emitRows(f, target, isLog, p));
      const signature = { x: "i32", y: "i32", outer: "i32", n: "i32", inner: "i32" } as const;
      module.function(`${name}.columns`, signature, (f, p) => emitColumns(f, target, isLog, p));
    },
    build({ exports }, [x], { axis }, y) {
      const [rows, columns] = [exports(`${name}.rows`), exports(`${name}.columns`)];
      return (run) => {
        const { outer, n, inner } = axisView(run.shape(x!), axis);
        const [from, to] = [run.address(x!), run.address(y)];
        if (n === 0 || inner === 0) return undefined;
        return rowChunks(outer, n * inner, (first, count) => {
          const offset = 4 * first * n * inner;
          if (inner === 1) rows(from + offset, to + offset, count, n);
          else columns(from + offset, to + offset, count, n, inner);
        });
      };
    },
  };
}

function emitRows(f: FunctionBuilder, target: Target, isLog: boolean, p: Readonly<Record<"x" | "y" | "rows" | "n", Local<"i32">>>): void {
  const { x, y, rows, n } = p;
  const [at, to, count] = [f.local("i32"), f.local("i32"), f.local("i32")];
  const largest = f.locals("v128", 4);
  const factor = f.local("v128");
  f.while(rows, () => {
    for (const vector of largest) f.set(vector, f.splat(Number.NEGATIVE_INFINITY));
    f.set(at, x);
    f.set(count, n);
    f.while(i32.geU(count, 16), () => {
      largest.forEach((vector, i) => void f.set(vector, f32x4.pmax(vector, v128.load(at, 16 * i))));
      f.advance(at, 64);
      f.advance(count, -16);
    });
    f.while(count, () => {
      f.set(largest[0]!, f32x4.pmax(largest[0]!, v128.load32Splat(at)));
      f.advance(at, 4);
      f.advance(count, -1);
    });
    for (const vector of largest.slice(1)) f.set(largest[0]!, f32x4.pmax(largest[0]!, vector));
    const m = largestLane(f, largest[0]!);
    f.set(at, x);
    f.set(to, y);
    f.set(count, n);
    const total = blockSum(
      f,
      count,
      (offset) => {
        const e = expFlushed(f, target, f32x4.sub(v128.load(at, offset), m));
        if (!isLog) f.store(to, e, offset);
        return e;
      },
      () => {
        const e = expFlushed(f, target, f32x4.sub(v128.load32Splat(at), m));
        if (!isLog) f.store32Lane(to, e, 0);
        return f32x4.extract(e, 0);
      },
      (elements) => {
        f.advance(at, 4 * elements);
        f.advance(to, 4 * elements);
      },
    );
    f.set(factor, f32x4.splat(f32.fromF64(isLog ? total : f64.div(f64.const(1), total))));
    if (isLog) f.set(factor, log(f, target, factor));
    f.set(count, n);
    f.set(at, isLog ? x : y);
    f.set(to, y);
    forEachVector(f, count, [at, to], (offset, store) => {
      const value = v128.load(at, offset);
      store(to, isLog ? f32x4.sub(f32x4.sub(value, m), factor) : f32x4.mul(value, factor));
    });
    f.set(x, i32.add(x, i32.shl(n, 2)));
    f.set(y, i32.add(y, i32.shl(n, 2)));
    f.advance(rows, -1);
  });
}

function emitColumns(
  f: FunctionBuilder,
  target: Target,
  isLog: boolean,
  p: Readonly<Record<"x" | "y" | "outer" | "n" | "inner", Local<"i32">>>,
): void {
  const { x, y, outer, n, inner } = p;
  const stride = f.let(i32.shl(inner, 2));
  const plane = f.let(i32.mul(n, stride));
  const [at, to, count, left, column] = [f.local("i32"), f.local("i32"), f.local("i32"), f.local("i32"), f.local("i32")];
  const [largest, factor, value] = [f.local("v128"), f.local("v128"), f.local("v128")];
  const sums = f.locals("v128", 2);
  const walk = (body: () => void): void => {
    f.set(at, i32.add(x, column));
    f.set(to, i32.add(y, column));
    f.set(count, n);
    f.while(count, () => {
      body();
      f.advance(at, stride);
      f.advance(to, stride);
      f.advance(count, -1);
    });
  };
  f.while(outer, () => {
    f.set(left, inner);
    f.setI32(column, 0);
    f.while(left, () => {
      f.set(largest, f.splat(Number.NEGATIVE_INFINITY));
      walk(() => f.set(largest, f32x4.pmax(largest, v128.load(at))));
      for (const sum of sums) f.set(sum, v128.zero());
      walk(() => {
        const e = expFlushed(f, target, f32x4.sub(v128.load(at), largest));
        if (!isLog) storeLanes(f, to, e, left);
        addPairs(f, sums, e);
      });
      f.set(factor, f32x4.shuffle(f32x4.demoteF64x2(sums[0]!), f32x4.demoteF64x2(sums[1]!), [0, 1, 4, 5]));
      if (isLog) f.set(factor, log(f, target, factor));
      walk(() => {
        if (isLog) f.set(value, f32x4.sub(f32x4.sub(v128.load(at), largest), factor));
        else f.set(value, f32x4.div(v128.load(to), factor));
        storeLanes(f, to, value, left);
      });
      f.advance(column, 16);
      f.set(left, i32.select(i32.gtU(left, 4), i32.sub(left, 4), 0));
    });
    f.advance(x, plane);
    f.advance(y, plane);
    f.advance(outer, -1);
  });
}
