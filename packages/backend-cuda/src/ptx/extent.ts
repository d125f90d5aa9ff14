import type { PtxBuilder } from "./builder.ts";
import type { Pred, U32 } from "./types.ts";

/** A whole number that is known when the kernel is generated, or a register that holds it. Arithmetic on it folds constants. */
export type Extent = number | U32;

export function times(k: PtxBuilder, a: Extent, b: Extent): Extent {
  if (typeof a === "number") {
    if (typeof b === "number") return a * b;
    return times(k, b, a);
  }
  if (b === 0) return 0;
  return b === 1 ? a : k.mul(a, b);
}

export function plus(k: PtxBuilder, a: Extent, b: Extent): Extent {
  if (typeof a === "number") {
    if (typeof b === "number") return a + b;
    return plus(k, b, a);
  }
  return b === 0 ? a : k.add(a, b);
}

export function product(k: PtxBuilder, extents: readonly Extent[]): Extent {
  return extents.reduce<Extent>((a, b) => times(k, a, b), 1);
}

/** `a * b + c` */
export function timesPlus(k: PtxBuilder, a: Extent, b: Extent, c: Extent): Extent {
  return plus(k, times(k, a, b), c);
}

/** `[floor(a / b), a mod b]`; a zero divisor gives anything, without a trap. */
export function divide(k: PtxBuilder, a: Extent, b: Extent): readonly [Extent, Extent] {
  if (b === 1) return [a, 0];
  if (typeof a === "number" && typeof b === "number") return [Math.floor(a / b), a % b];
  const dividend = register(k, a);
  return [k.div(dividend, b), k.rem(dividend, b)];
}

export function register(k: PtxBuilder, a: Extent): U32 {
  return typeof a === "number" ? k.constant("u32", a) : a;
}

export function isBelow(k: PtxBuilder, a: Extent, b: Extent): Pred {
  return k.compare("lt", register(k, a), b);
}

/** Row-major strides of a shape. */
export function stridesOf(k: PtxBuilder, shape: readonly Extent[]): readonly Extent[] {
  const strides: Extent[] = [];
  let stride: Extent = 1;
  for (const extent of shape.toReversed()) {
    strides.unshift(stride);
    stride = times(k, stride, extent);
  }
  return strides;
}

/** The indices of a flat index along each axis of a shape. */
export function unflatten(k: PtxBuilder, index: Extent, shape: readonly Extent[]): readonly Extent[] {
  const indices: Extent[] = [];
  let rest = index;
  shape.toReversed().forEach((extent, place) => {
    if (place === shape.length - 1) {
      indices.unshift(rest);
      return;
    }
    const [quotient, remainder] = divide(k, rest, extent);
    indices.unshift(remainder);
    rest = quotient;
  });
  return indices;
}

/** `sum(indices[i] * strides[i])` */
export function offset(k: PtxBuilder, indices: readonly Extent[], strides: readonly Extent[]): Extent {
  return indices.reduce<Extent>((sum, index, axis) => timesPlus(k, index, strides[axis]!, sum), 0);
}
