import { type FunctionBuilder, f32x4, i32, i32x4, type Local, type ModuleBuilder, type V128, v128 } from "../../emit/index.ts";
import type { Kernel } from "../../kernel.ts";
import { folds, freshStates, mergeStates, orNaN, restart } from "./fold.ts";
import { alongAxis, forEachStrip } from "./reduction.ts";
import { zip } from "./zip.ts";

const signature = { x: "i32", y: "i32", n: "i32", inner: "i32", begin: "i32", end: "i32" } as const;

/** `argmax` and `argmin`: the first of equal values; the first NaN wins over all. */
export function argExtremum(name: "argmax" | "argmin"): Kernel<"argmax"> {
  const fold = name === "argmax" ? "max" : "min";
  return {
    build({ emit }, [x], { axis }, y) {
      const rows = emit(`${name}.rows`, (module, called) => emitRows(module, called, fold));
      const columns = emit(`${name}.columns`, (module, called) => emitColumns(module, called, fold));
      return alongAxis(rows, columns, x, y, axis);
    },
  };
}

/** Finds the extreme value first, then its first index. */
function emitRows(module: ModuleBuilder, name: string, extreme: "max" | "min"): void {
  const fold = folds[extreme];
  module.function(name, signature, (f, { x, y, n, begin, end }) => {
    const [row, left, at, index, found] = f.locals("i32", 5);
    const states = freshStates(f, fold, 4);
    const best = f.local("v128");
    const rowBytes = f.let(i32.shl(n, 2));
    f.advance(x, i32.mul(begin, rowBytes));
    f.advance(y, i32.shl(begin, 2));
    f.for(row, begin, end, 1, () => {
      restart(f, fold, states);
      f.set(at, x);
      f.set(left, n);
      f.while(i32.geU(left, 16), () => {
        states.forEach((state, i) => void fold.step(f, state, f.let(v128.load(at, 16 * i))));
        f.advance(at, 64);
        f.advance(left, -16);
      });
      f.while(left, () => {
        fold.step(f, states[0], f.let(v128.load32Splat(at)));
        f.advance(at, 4);
        f.advance(left, -1);
      });
      f.set(best, f32x4.splat(f32x4.extract(f.let(orNaN(f, mergeStates(f, fold, states))), 0)));
      f.set(at, x);
      f.setI32(index, 0);
      f.block((exit) => {
        f.loop((again) => {
          f.brIf(exit, i32.geU(index, n));
          const quad = f.let(v128.load(at));
          const bothNaN = v128.and(f32x4.ne(quad, quad), f32x4.ne(best, best));
          f.set(found, i32x4.bitmask(v128.or(f32x4.eq(quad, best), bothNaN)));
          f.if(found, () => {
            f.advance(index, i32.ctz(found));
            f.br(exit);
          });
          f.advance(at, 16);
          f.advance(index, 4);
          f.br(again);
        });
      });
      f.store(y, i32.select(i32.ltU(index, n), index, 0));
      f.advance(x, rowBytes);
      f.advance(y, 4);
    });
  });
}

function emitColumns(module: ModuleBuilder, name: string, extreme: "max" | "min"): void {
  const isBetter = extreme === "max" ? f32x4.gt : f32x4.lt;
  module.function(name, signature, (f, p) => {
    const strip = zip(f.locals("v128", 4), f.locals("v128", 4));
    const index = f.local("i32");
    forEachStrip(f, p, "f32", (at, stride, vectors, store) => {
      const used = strip.slice(0, vectors);
      for (const [i, [best, bestIndex]] of used.entries()) {
        f.set(best, v128.load(at, 16 * i));
        f.set(bestIndex, v128.zero());
      }
      f.for(index, 0, p.n, 1, () => {
        const here = f.let(i32x4.splat(index));
        for (const [i, [best, bestIndex]] of used.entries()) step(f, isBetter, best, bestIndex, v128.load(at, 16 * i), here);
        f.advance(at, stride);
      });
      for (const [i, [, bestIndex]] of used.entries()) store(i, bestIndex);
    });
  });
}

function step(
  f: FunctionBuilder,
  isBetter: (a: V128, b: V128) => V128,
  best: Local<"v128">,
  index: Local<"v128">,
  loaded: V128,
  here: V128,
): void {
  const value = f.let(loaded);
  const wins = v128.or(isBetter(value, best), f32x4.ne(value, value));
  const takes = f.let(v128.and(wins, f32x4.eq(best, best)));
  f.set(best, v128.bitselect(takes, value, best));
  f.set(index, v128.bitselect(takes, here, index));
}
