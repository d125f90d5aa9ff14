import { f32, i32, type ModuleBuilder, v128 } from "../emit/index.ts";
import { loadBfloats, loadHalves } from "../formats/half.ts";
import type { Target } from "../target.ts";
import { outer, outerTileRows } from "./outer.ts";

const { tileColumns } = outer;

/** Emits `outer.packA` and `outer.packB.<dtype>`: panels of both operands for the tiles of outerTiles.ts. */
export function emitPacking(module: ModuleBuilder, target: Target): void {
  emitPackA(module, outerTileRows(target));
  for (const dtype of ["f32", "f16", "bf16"] as const) emitPackB(module, dtype);
}

/**
 * `outer.packA(from, to, rows, rowBytes, k)` packs panels of tile rows, one element of each in turn. Beyond `rows` the
 * last one repeats.
 */
function emitPackA(module: ModuleBuilder, tileRows: number): void {
  const signature = { from: "i32", to: "i32", rows: "i32", rowBytes: "i32", k: "i32" } as const;
  module.function("outer.packA", signature, (f, { from, to, rows, rowBytes, k }) => {
    const pointers = f.locals("i32", tileRows);
    const [left, last] = f.locals("i32", 2);
    f.while(rows, () => {
      f.set(last, i32.sub(rows, 1));
      pointers.forEach((pointer, row) => void f.set(pointer, i32.add(from, i32.mul(i32.select(i32.ltU(row, last), row, last), rowBytes))));
      f.set(left, k);
      f.while(left, () => {
        pointers.forEach((pointer, row) => {
          f.store(to, f32.load(pointer), 4 * row);
          f.advance(pointer, 4);
        });
        f.advance(to, 4 * tileRows);
        f.advance(left, -1);
      });
      f.advance(from, i32.mul(rowBytes, tileRows));
      f.countDown(rows, tileRows);
    });
  });
}

/**
 * `outer.packB.<dtype>(from, to, rowBytes, k, begin, end)` packs consecutive panels of tile columns as f32. Columns
 * beyond the matrix are undefined. All panels are filled row by row, because filling them one by one would fetch every
 * cache line twice.
 */
function emitPackB(module: ModuleBuilder, dtype: "f32" | "f16" | "bf16"): void {
  const signature = { from: "i32", to: "i32", rowBytes: "i32", k: "i32", begin: "i32", end: "i32" } as const;
  const vectorBytes = dtype === "f32" ? 16 : 8;
  module.function(`outer.packB.${dtype}`, signature, (f, { from, to, rowBytes, k, begin, end }) => {
    const panelBytes = f.let(i32.mul(k, 4 * tileColumns));
    f.advance(from, i32.mul(begin, (vectorBytes * tileColumns) / 4));
    f.advance(to, i32.mul(begin, panelBytes));
    const [at, panel, left] = f.locals("i32", 3);
    f.while(k, () => {
      f.set(at, from);
      f.set(panel, to);
      f.set(left, i32.sub(end, begin));
      f.while(left, () => {
        for (let vector = 0; vector < tileColumns / 4; vector++) {
          const offset = vectorBytes * vector;
          const value = dtype === "f32" ? v128.load(at, offset) : dtype === "f16" ? loadHalves(f, at, offset) : loadBfloats(at, offset);
          f.store(panel, value, 16 * vector);
        }
        f.advance(at, (vectorBytes * tileColumns) / 4);
        f.advance(panel, panelBytes);
        f.advance(left, -1);
      });
      f.advance(from, rowBytes);
      f.advance(to, 4 * tileColumns);
      f.advance(k, -1);
    });
  });
}
