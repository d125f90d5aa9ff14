import { elementAt } from "@centella/core/backend";
import type { Bool, Emitter, U32 } from "./emitter.ts";

/** A whole number: a constant of the kernel's text, or a value. Arithmetic folds constants. */
export type Extent = number | U32;

/** One extent per element of a list; a tuple for a tuple. */
export type PerExtent<S extends readonly unknown[]> = { readonly [K in keyof S]: Extent };

/** Instructions that arithmetic on extents needs. */
type ExtentMath = Pick<Emitter, "constant" | "add" | "mul" | "quotient" | "remainder" | "compare">;

/** `a * b` */
export function times(k: ExtentMath, a: Extent, b: Extent): Extent {
  if (typeof a === "number") return typeof b === "number" ? a * b : times(k, b, a);
  if (b === 0) return 0;
  return b === 1 ? a : k.mul(a, b);
}

/** `a + b` */
export function plus(k: ExtentMath, a: Extent, b: Extent): Extent {
  if (typeof a === "number") return typeof b === "number" ? a + b : plus(k, b, a);
  return b === 0 ? a : k.add(a, b);
}

/** `a * b + c` */
export function timesPlus(k: ExtentMath, a: Extent, b: Extent, c: Extent): Extent {
  return plus(k, times(k, a, b), c);
}

/** Product of all extents; 1 for none. */
export function product(k: ExtentMath, extents: readonly Extent[]): Extent {
  return extents.reduce<Extent>((a, b) => times(k, a, b), 1);
}

/** `[floor(a / b), a mod b]`; undefined for a zero divisor, without a trap. */
export function divide(k: ExtentMath, a: Extent, b: Extent): readonly [Extent, Extent] {
  if (b === 1 || b === 0) return [a, 0];
  if (typeof a === "number" && typeof b === "number") return [Math.floor(a / b), a % b];
  const dividend = asValue(k, a);
  return [k.quotient(dividend, b), k.remainder(dividend, b)];
}

/** Value of an extent; a number becomes a constant. */
export function asValue(k: ExtentMath, a: Extent): U32 {
  return typeof a === "number" ? k.constant("u32", a) : a;
}

/** `a < b` */
export function isBelow(k: ExtentMath, a: Extent, b: Extent): Bool {
  return k.compare("lt", asValue(k, a), b);
}

/** Row-major strides of a shape. */
export function stridesOf<const S extends readonly Extent[]>(k: ExtentMath, shape: S): PerExtent<S> {
  const strides: Extent[] = [];
  let stride: Extent = 1;
  for (const extent of shape.toReversed()) {
    strides.unshift(stride);
    stride = times(k, stride, extent);
  }
  return strides as readonly Extent[] as PerExtent<S>;
}

/** The indices of a flat index along each axis of a shape. */
export function unflatten<const S extends readonly Extent[]>(k: ExtentMath, index: Extent, shape: S): PerExtent<S> {
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
  return indices as readonly Extent[] as PerExtent<S>;
}

/** `sum(indices[i] * strides[i])` */
export function offset(k: ExtentMath, indices: readonly Extent[], strides: readonly Extent[]): Extent {
  return indices.reduce<Extent>((sum, index, axis) => timesPlus(k, index, elementAt(strides, axis), sum), 0);
}
