import { type FunctionBuilder, f32x4, i16x8, i32x4, type Local, relaxed, type V128, v128 } from "../emit/index.ts";
import type { Target } from "../target.ts";

/** The low four bits of 16 bytes. */
export function lowNibbles(f: FunctionBuilder, bytes: V128): Local<"v128"> {
  return f.let(v128.and(bytes, f.splatBits(0x0f0f0f0f)));
}

/** The high four bits of 16 bytes. */
export function highNibbles(f: FunctionBuilder, bytes: V128): Local<"v128"> {
  return f.let(v128.and(i16x8.shrU(bytes, 4), f.splatBits(0x0f0f0f0f)));
}

/** 16 signed bytes as four vectors of f32. */
export function bytesToFloats(f: FunctionBuilder, bytes: V128): readonly V128[] {
  const low = f.let(i16x8.extendLowS(bytes));
  const high = f.let(i16x8.extendHighS(bytes));
  return [i32x4.extendLowS(low), i32x4.extendHighS(low), i32x4.extendLowS(high), i32x4.extendHighS(high)].map((quad) =>
    f32x4.fromI32x4(quad),
  );
}

/** 16 weights from 0 to 127, ready to be multiplied with signed bytes in memory. */
export interface DotVector {
  /** `sum + Σ weights * bytes` over groups of lanes; which lane takes which product depends on the target. */
  add(sum: V128, address: Local<"i32">, offset: number): V128;
}

/** Prepares 16 unsigned 7-bit weights for dot products. */
export function dotVector(f: FunctionBuilder, target: Target, weights: V128): DotVector {
  if (target.relaxed) {
    const bytes = f.let(weights);
    return { add: (sum, address, offset) => relaxed.dotI8x16I7x16Add(v128.load(address, offset), bytes, sum) };
  }
  const bytes = f.let(weights);
  const low = f.let(i16x8.extendLowU(bytes));
  const high = f.let(i16x8.extendHighU(bytes));
  return {
    add: (sum, address, offset) =>
      i32x4.add(
        i32x4.add(sum, i32x4.dotI16x8(v128.load8x8S(address, offset), low)),
        i32x4.dotI16x8(v128.load8x8S(address, offset + 8), high),
      ),
  };
}
