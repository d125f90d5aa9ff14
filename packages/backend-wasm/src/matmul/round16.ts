import { i32x4, type ModuleBuilder, v128 } from "../emit/index.ts";
import { toBfloats, toHalves, widenHalves } from "../formats/half.ts";
import type { Call, Exports } from "../kernel.ts";
import { aligned } from "../kernels/shared/aligned.ts";
import type { Path } from "./product.ts";

/** Vectors that one call rounds. */
const vectorsPerCall = 2 ** 11;

/** `round.f16(from, to, vectors)` and `round.bf16` round vectors of f32 to values that the type can hold, as ggml's CPU code does. */
export function emitRound16(module: ModuleBuilder): void {
  for (const dtype of ["f16", "bf16"] as const) {
    module.function(`round.${dtype}`, { from: "i32", to: "i32", vectors: "i32" }, (f, { from, to, vectors }) => {
      f.while(vectors, () => {
        const value = v128.load(from);
        f.store(to, dtype === "f16" ? widenHalves(f, toHalves(f, value)) : i32x4.shl(toBfloats(f, value), 16));
        f.advance(from, 16);
        f.advance(to, 16);
        f.advance(vectors, -1);
      });
    });
  }
}

/** A path that first rounds the rows of `a` to a 16-bit type, in scratch memory. */
export function roundingFirst(exports: Exports, dtype: "f16" | "bf16", path: Path): Path {
  const round = exports(`round.${dtype}`);
  // The last vector may reach beyond the rows. What it reads there is never used.
  const vectorsOf = (m: number, k: number): number => Math.ceil((m * k) / 4);
  const copyBytes = (m: number, k: number): number => aligned(16 * vectorsOf(m, k));
  return {
    ...path,
    *multiply(product) {
      const { a, m, k, scratch } = product;
      const vectors = vectorsOf(m, k);
      yield Array.from({ length: Math.ceil(vectors / vectorsPerCall) }, (_, i): Call => {
        const at = i * vectorsPerCall;
        return { fn: round, args: [a + 16 * at, scratch + 16 * at, Math.min(vectorsPerCall, vectors - at)] };
      });
      yield* path.multiply({ ...product, a: scratch, scratch: scratch + copyBytes(m, k) });
    },
    scratch: (m, n, k) => copyBytes(m, k) + path.scratch(m, n, k),
  };
}
