import { f32, f32x4, f64, f64x2, i32, type Local, type ModuleBuilder, v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { addVector, folds, freshVectors, restart, vectorResult } from "./shared/fold.ts";
import { emitMoments } from "./shared/moments.ts";
import { alongAxis, forEachStrip } from "./shared/reduction.ts";
import { zip } from "./shared/zip.ts";

const signature = { x: "i32", y: "i32", n: "i32", inner: "i32", count: "f64", divisor: "f64", begin: "i32", end: "i32" } as const;

/** Two passes: the mean, then the squared differences from it. */
export const variance: Kernel<"variance"> = {
  build({ emit }, [x], { axis, correction }, y) {
    const [rows, columns] = [emit("variance.rows", emitRows), emit("variance.columns", emitColumns)];
    return alongAxis(rows, columns, x, y, axis, (n) => [n, n > correction ? n - correction : Number.NaN]);
  },
};

function emitRows(module: ModuleBuilder, name: string): void {
  module.function(name, signature, (f, { x, y, n, divisor, begin, end }) => {
    const row = f.local("i32");
    const rowBytes = f.let(i32.shl(n, 2));
    f.advance(x, i32.mul(begin, rowBytes));
    f.advance(y, i32.shl(begin, 2));
    f.for(row, begin, end, 1, () => {
      const { squares } = emitMoments(f, x, n);
      f.store(y, f32.fromF64(f64.div(squares, divisor)));
      f.advance(x, rowBytes);
      f.advance(y, 4);
    });
  });
}

function emitColumns(module: ModuleBuilder, name: string): void {
  const fold = folds.sum;
  module.function(name, signature, (f, p) => {
    const states = freshVectors(f, fold, 4);
    const strip = states.map((sums) => ({ sums, means: f.locals("v128", 2) }));
    const [left, from] = f.locals("i32", 2);
    const [count, divisor] = [f.let(f64x2.splat(p.count)), f.let(f64x2.splat(p.divisor))];
    forEachStrip(f, p, "f32", (at, stride, vectors, store) => {
      const used = strip.slice(0, vectors);
      f.set(from, at);
      const forEachRow = (body: (vector: (typeof strip)[number], x: Local<"v128">) => void): void => {
        f.set(at, from);
        f.set(left, p.n);
        f.while(left, () => {
          for (const [i, vector] of used.entries()) body(vector, f.let(v128.load(at, 16 * i)));
          f.advance(at, stride);
          f.advance(left, -1);
        });
      };
      for (const { sums } of used) restart(f, fold, sums);
      forEachRow(({ sums }, x) => addVector(f, fold, sums, x));
      for (const { sums, means } of used) for (const [[sum], mean] of zip(sums, means)) f.set(mean, f64x2.div(sum, count));
      for (const { sums } of used) restart(f, fold, sums);
      forEachRow(({ sums, means }, x) => {
        const halves = [x, f32x4.shuffle(x, x, [2, 3, 2, 3])];
        for (const [half, [sum, mean]] of zip(halves, zip(sums, means))) {
          const difference = f.let(f64x2.sub(f64x2.promoteLowF32x4(half), mean));
          fold.step(f, sum, f.let(f64x2.mul(difference, difference)));
        }
      });
      for (const [i, { sums }] of used.entries()) {
        store(
          i,
          vectorResult(f, sums, ([squares]) => f64x2.div(squares, divisor)),
        );
      }
    });
  });
}
