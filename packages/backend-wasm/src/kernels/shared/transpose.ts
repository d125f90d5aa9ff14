import { mapTuple, type Tuple } from "@centella/core/backend";
import { type FunctionBuilder, f32x4, i32, type Local, type ModuleBuilder, v128 } from "../../emit/index.ts";

/** Columns of x per unit: a cache line. */
export const transposedColumns = 16;

const signature = {
  x: "i32",
  y: "i32",
  n: "i32",
  xStep: "i32",
  m: "i32",
  yStep: "i32",
  xPlane: "i32",
  yPlane: "i32",
  begin: "i32",
  end: "i32",
} as const;

/**
 * Emits a matrix transpose of 4-byte elements, plane by plane. `n` rows of x are `xStep` bytes apart, `m` rows of y are
 * `yStep` bytes apart. A unit is 16 columns of a plane of x, transposed in 4 × 4 blocks.
 */
export function emitTranspose(module: ModuleBuilder, name: string): void {
  module.function(name, signature, (f, p) => {
    const [unit, column, width, from, to, left, at, out, across] = f.locals("i32", 9);
    const strips = f.let(i32.divU(i32.add(p.m, transposedColumns - 1), transposedColumns));
    const fourRows = f.let(i32.shl(p.xStep, 2));
    f.for(unit, p.begin, p.end, 1, () => {
      const plane = f.let(i32.divU(unit, strips));
      f.set(column, i32.mul(i32.remU(unit, strips), transposedColumns));
      f.set(width, i32.sub(p.m, column));
      f.set(from, i32.add(i32.add(p.x, i32.mul(plane, p.xPlane)), i32.shl(column, 2)));
      f.set(to, i32.add(i32.add(p.y, i32.mul(plane, p.yPlane)), i32.mul(column, p.yStep)));
      f.set(left, p.n);
      f.if(i32.geU(width, transposedColumns), () => {
        f.setI32(width, transposedColumns);
        f.while(i32.geU(left, 4), () => {
          f.set(out, to);
          for (let group = 0; group < transposedColumns / 4; group++) {
            f.set(at, from);
            const rows = mapTuple([0, 1, 2, 3], () => {
              const row = f.let(v128.load(at, 16 * group));
              f.advance(at, p.xStep);
              return row;
            });
            for (const turned of transposed(f, rows)) {
              f.store(out, turned);
              f.advance(out, p.yStep);
            }
          }
          f.advance(from, fourRows);
          f.advance(to, 16);
          f.advance(left, -4);
        });
      });
      f.while(left, () => {
        f.set(at, from);
        f.set(out, to);
        f.for(across, 0, i32.select(i32.ltU(width, transposedColumns), width, transposedColumns), 1, () => {
          f.store(out, i32.load(at));
          f.advance(at, 4);
          f.advance(out, p.yStep);
        });
        f.advance(from, p.xStep);
        f.advance(to, 4);
        f.advance(left, -1);
      });
    });
  });
}

/** Transposes a 4 × 4 matrix of lanes. */
export function transposed(f: FunctionBuilder, [a, b, c, d]: Tuple<Local<"v128">, 4>): readonly Local<"v128">[] {
  const [ab0, ab1] = [f.let(f32x4.shuffle(a, b, [0, 4, 1, 5])), f.let(f32x4.shuffle(a, b, [2, 6, 3, 7]))];
  const [cd0, cd1] = [f.let(f32x4.shuffle(c, d, [0, 4, 1, 5])), f.let(f32x4.shuffle(c, d, [2, 6, 3, 7]))];
  return [
    [ab0, cd0, [0, 1, 4, 5]] as const,
    [ab0, cd0, [2, 3, 6, 7]] as const,
    [ab1, cd1, [0, 1, 4, 5]] as const,
    [ab1, cd1, [2, 3, 6, 7]] as const,
  ].map(([low, high, lanes]) => f.let(f32x4.shuffle(low, high, lanes)));
}
