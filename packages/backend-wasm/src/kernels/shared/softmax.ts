import { storeSome } from "../../elementwise/lanes.ts";
import { type FunctionBuilder, f32, f32x4, f64, i32, type Local, type V128, v128 } from "../../emit/index.ts";
import type { Kernel } from "../../kernel.ts";
import { expFlushed } from "../../math/exp.ts";
import { log } from "../../math/log.ts";
import { largestLane } from "../../matmul/lanes.ts";
import type { Target } from "../../target.ts";
import { addVector, folds, freshVectors, restart, vectorResult } from "./fold.ts";
import { forEachVector } from "./loops.ts";
import { alongAxis, forEachStrip } from "./reduction.ts";
import { blockSum } from "./sum.ts";
import { zip } from "./zip.ts";

const signature = { x: "i32", y: "i32", n: "i32", inner: "i32", begin: "i32", end: "i32" } as const;
type P = { readonly [K in keyof typeof signature]: Local<"i32"> };

/** `softmax` and `logSoftmax`. Sums are in f64 or blocks of f32, because rows can be as long as a vocabulary. */
export function softmaxKernel(name: "softmax" | "logSoftmax"): Kernel<"softmax"> {
  const isLog = name === "logSoftmax";
  return {
    emit(module, target) {
      module.function(`${name}.rows`, signature, (f, p) => emitRows(f, target, isLog, p));
      module.function(`${name}.columns`, signature, (f, p) => emitColumns(f, target, isLog, p));
    },
    build({ exports }, [x], { axis }, y) {
      const [rows, columns] = [exports(`${name}.rows`), exports(`${name}.columns`)];
      return alongAxis(rows, columns, x, y, axis);
    },
  };
}

function emitRows(f: FunctionBuilder, target: Target, isLog: boolean, p: P): void {
  const { x, y, n, begin, end } = p;
  const [at, to, count] = f.locals("i32", 3);
  const largest = f.locals("v128", 4);
  const factor = f.local("v128");
  const row = f.local("i32");
  const rowBytes = f.let(i32.shl(n, 2));
  f.advance(x, i32.mul(begin, rowBytes));
  f.advance(y, i32.mul(begin, rowBytes));
  f.for(row, begin, end, 1, () => {
    for (const vector of largest) f.set(vector, f.splat(Number.NEGATIVE_INFINITY));
    f.set(at, x);
    f.set(count, n);
    f.while(i32.geU(count, 16), () => {
      largest.forEach((vector, i) => void f.set(vector, f32x4.pmax(vector, v128.load(at, 16 * i))));
      f.advance(at, 64);
      f.advance(count, -16);
    });
    f.while(count, () => {
      f.set(largest[0], f32x4.pmax(largest[0], v128.load32Splat(at)));
      f.advance(at, 4);
      f.advance(count, -1);
    });
    for (const vector of largest.slice(1)) f.set(largest[0], f32x4.pmax(largest[0], vector));
    const m = largestLane(f, largest[0]);
    f.set(at, x);
    f.set(to, y);
    f.set(count, n);
    const total = blockSum(
      f,
      count,
      (offset) => {
        const e = expFlushed(f, target, f32x4.sub(v128.load(at, offset), m), 0);
        if (!isLog) f.store(to, e, offset);
        return e;
      },
      () => {
        const e = expFlushed(f, target, f32x4.sub(v128.load32Splat(at), m), 0);
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
    f.advance(x, rowBytes);
    f.advance(y, rowBytes);
  });
}

/** Three passes over each strip: the largest values, the exponentials and their sums, the quotients. */
function emitColumns(f: FunctionBuilder, target: Target, isLog: boolean, p: P): void {
  const values = zip(f.locals("v128", 4), f.locals("v128", 4));
  const strip = zip(values, freshVectors(f, folds.sum, 4)).map(([[largest, factor], sums]) => ({ largest, factor, sums }));
  const [to, left, from] = f.locals("i32", 3);
  forEachStrip(f, p, "f32", (at, stride, vectors, _store, start, columns) => {
    const used = strip.slice(0, vectors);
    f.set(from, at);
    const forEachRow = (body: (vector: (typeof strip)[number], offset: number) => void): void => {
      f.set(at, from);
      f.set(to, i32.add(p.y, start));
      f.set(left, p.n);
      f.while(left, () => {
        for (const [i, vector] of used.entries()) body(vector, 16 * i);
        f.advance(at, stride);
        f.advance(to, stride);
        f.advance(left, -1);
      });
    };
    const store = (offset: number, value: V128): void => {
      if (vectors === 4) f.store(to, value, offset);
      else storeSome(f, "f32", to, value, columns);
    };
    for (const { largest } of used) f.set(largest, f.splat(Number.NEGATIVE_INFINITY));
    forEachRow(({ largest }, offset) => f.set(largest, f32x4.pmax(largest, v128.load(at, offset))));
    for (const { sums } of used) restart(f, folds.sum, sums);
    forEachRow(({ largest, sums }, offset) => {
      const e = expFlushed(f, target, f32x4.sub(v128.load(at, offset), largest), 0);
      if (!isLog) store(offset, e);
      addVector(f, folds.sum, sums, e);
    });
    for (const { factor, sums } of used) {
      const total = vectorResult(f, sums, ([sum]) => sum);
      f.set(factor, isLog ? log(f, target, total) : total);
    }
    forEachRow(({ largest, factor }, offset) => {
      const value = v128.load(isLog ? at : to, offset);
      store(offset, isLog ? f32x4.sub(f32x4.sub(value, largest), factor) : f32x4.div(value, factor));
    });
  });
}
