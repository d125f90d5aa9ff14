import { f32, f32x4, f64, f64x2, i32, type ModuleBuilder, v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { addVector, folds, freshStates, restart } from "./shared/fold.ts";
import { emitMoments } from "./shared/moments.ts";
import { alongAxis, forEachStrip, joinDoubles } from "./shared/reduction.ts";

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
    const states = freshStates(f, fold, 8);
    const means = f.locals("v128", 8);
    const [left, from] = f.locals("i32", 2);
    const [count, divisor] = [f.let(f64x2.splat(p.count)), f.let(f64x2.splat(p.divisor))];
    forEachStrip(f, p, "f32", (at, stride, vectors, store) => {
      const used = states.slice(0, 2 * vectors);
      const pairOf = (vector: number) => states.slice(2 * vector, 2 * vector + 2);
      f.set(from, at);
      const forEachRow = (body: (vector: number) => void): void => {
        f.set(at, from);
        f.set(left, p.n);
        f.while(left, () => {
          for (let vector = 0; vector < vectors; vector++) body(vector);
          f.advance(at, stride);
          f.advance(left, -1);
        });
      };
      restart(f, fold, used);
      forEachRow((vector) => addVector(f, fold, pairOf(vector), f.let(v128.load(at, 16 * vector))));
      used.forEach(([sum], i) => void f.set(means[i]!, f64x2.div(sum!, count)));
      restart(f, fold, used);
      forEachRow((vector) => {
        const x = f.let(v128.load(at, 16 * vector));
        [x, f32x4.shuffle(x, x, [2, 3, 2, 3])].forEach((half, i) => {
          const difference = f.let(f64x2.sub(f64x2.promoteLowF32x4(half), means[2 * vector + i]!));
          fold.step(f, pairOf(vector)[i]!, f.let(f64x2.mul(difference, difference)));
        });
      });
      for (let vector = 0; vector < vectors; vector++)
        store(
          vector,
          joinDoubles(
            f,
            pairOf(vector).map(([squares]) => f64x2.div(squares!, divisor)),
          ),
        );
    });
  });
}
