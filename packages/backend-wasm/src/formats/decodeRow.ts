import { i32, type ModuleBuilder } from "../emit/index.ts";
import { forEachVector } from "../kernels/shared/loops.ts";
import { loadBfloats, loadHalves } from "./half.ts";

/** Emits `decode.<dtype>(from, to, n)` for f32, f16 and bf16: converts `n` elements of a row to f32. */
export function emitDecodeRow(module: ModuleBuilder): void {
  const signature = { from: "i32", to: "i32", n: "i32" } as const;
  module.function("decode.f32", signature, (f, { from, to, n }) => f.memoryCopy(to, from, i32.shl(n, 2)));
  for (const dtype of ["f16", "bf16"] as const) {
    module.function(`decode.${dtype}`, signature, (f, { from, to, n }) => {
      const start = f.let(to);
      const source = f.local("i32");
      forEachVector(f, n, [to], (offset, store) => {
        f.set(source, i32.add(from, i32.shrU(i32.sub(to, start), 1)));
        store(to, dtype === "f16" ? loadHalves(f, source, offset / 2) : loadBfloats(source, offset / 2));
      });
    });
  }
}
