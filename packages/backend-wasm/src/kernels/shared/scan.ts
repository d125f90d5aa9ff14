import { storeSome } from "../../elementwise/lanes.ts";
import { f32, f64, i32, type ModuleBuilder, v128 } from "../../emit/index.ts";
import type { Kernel } from "../../kernel.ts";
import { addVector, folds, freshVectors, restart, vectorResult } from "./fold.ts";
import type { Fold } from "./foldTypes.ts";
import { alongAxis, forEachStrip } from "./reduction.ts";

const signature = { x: "i32", y: "i32", n: "i32", inner: "i32", begin: "i32", end: "i32" } as const;

/** `cumsum` and `cumprod`, in f64 like their reference. */
export function scanKernel(name: "cumsum" | "cumprod"): Kernel<"cumsum"> {
  return {
    build({ emit }, [x], { axis }, y) {
      const rows = emit(`${name}.rows`, (module, called) => emitRows(module, called, name));
      const columns = emit(`${name}.columns`, (module, called) => emitColumns(module, called, name === "cumsum" ? folds.sum : folds.prod));
      return alongAxis(rows, columns, x, y, axis);
    },
  };
}

function emitRows(module: ModuleBuilder, name: string, op: "cumsum" | "cumprod"): void {
  const combine = op === "cumsum" ? f64.add : f64.mul;
  module.function(name, signature, (f, { x, y, n, begin, end }) => {
    const [row, i] = f.locals("i32", 2);
    const sum = f.local("f64");
    const offset = f.let(i32.shl(i32.mul(begin, n), 2));
    f.advance(x, offset);
    f.advance(y, offset);
    f.for(row, begin, end, 1, () => {
      f.set(sum, f64.const(op === "cumsum" ? 0 : 1));
      f.for(i, 0, n, 1, () => {
        f.set(sum, combine(sum, f64.fromF32(f32.load(x))));
        f.store(y, f32.fromF64(sum));
        f.advance(x, 4);
        f.advance(y, 4);
      });
    });
  });
}

function emitColumns(module: ModuleBuilder, name: string, fold: Fold): void {
  module.function(name, signature, (f, p) => {
    const vectorStates = freshVectors(f, fold, 4);
    const [left, to] = f.locals("i32", 2);
    forEachStrip(f, p, "f32", (at, stride, vectors, _store, offset, columns) => {
      const used = vectorStates.slice(0, vectors);
      restart(f, fold, used.flat());
      f.set(left, p.n);
      f.set(to, i32.add(p.y, offset));
      f.while(left, () => {
        for (const [i, vector] of used.entries()) {
          addVector(f, fold, vector, f.let(v128.load(at, 16 * i)));
          const value = vectorResult(f, vector, ([total]) => total);
          if (vectors === 4) f.store(to, value, 16 * i);
          else storeSome(f, "f32", to, value, columns);
        }
        f.advance(at, stride);
        f.advance(to, stride);
        f.advance(left, -1);
      });
    });
  });
}
