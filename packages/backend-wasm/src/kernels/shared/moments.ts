import { byteLength, type Operand } from "@centella/core/backend";
import { type Expr, type FunctionBuilder, f32, f32x4, f64, type Local, v128 } from "../../emit/index.ts";
import type { BuildContext } from "../../kernel.ts";
import { blockSum } from "./sum.ts";

/** Mean of `n` f32 at `x`, rounded to f32, and the sum of squared differences from the mean. */
export function emitMoments(
  f: FunctionBuilder,
  x: Local<"i32">,
  n: Local<"i32">,
): { readonly mean: Local<"f32">; readonly squares: Local<"f64"> } {
  const [at, left] = [f.let(x), f.let(n)];
  const advance = (elements: number): void => f.advance(at, 4 * elements);
  const sum = blockSum(
    f,
    left,
    (offset) => v128.load(at, offset),
    () => f32.load(at),
    advance,
  );
  const exact = f.let(f64.div(sum, f64.fromI32(n)));
  const mean = f.let(f32.fromF64(exact));
  const quadMean = f.let(f32x4.splat(mean));
  f.set(at, x);
  f.set(left, n);
  const squares = blockSum(
    f,
    left,
    (offset) => {
      const difference = f.let(f32x4.sub(v128.load(at, offset), quadMean));
      return f32x4.mul(difference, difference);
    },
    () => {
      const difference = f.let(f32.sub(f32.load(at), mean));
      return f32.mul(difference, difference);
    },
    advance,
  );
  // Differences are to the rounded mean, which makes the sum too large by n times the squared rounding error.
  const lost = f.let(f64.sub(exact, f64.fromF32(mean)));
  f.set(squares, f64.sub(squares, f64.mul(f64.mul(lost, lost), f64.fromI32(n))));
  return { mean, squares };
}

/** Address of zeros in place of an absent bias, as many as weights. Vectors may be read beyond the last. */
export function zeros({ table, max }: BuildContext, weights: Operand): () => number {
  return table(byteLength(max(weights)) + 64);
}

/** `1 / sqrt(squares / n + eps)` in all lanes. */
export function inverseDeviation(f: FunctionBuilder, squares: Local<"f64">, n: Local<"i32">, eps: Expr<"f64">): Local<"v128"> {
  const variance = f64.div(squares, f64.fromI32(n));
  return f.let(f32x4.splat(f32.fromF64(f64.div(f64.const(1), f64.sqrt(f64.add(variance, eps))))));
}
