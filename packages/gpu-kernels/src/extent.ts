import type { U32 } from "./emitter.ts";

/** A whole number that is known when the kernel is written, or a value `N` of it. Arithmetic folds constants. */
export type Extent<N extends string = U32> = number | N;

/** What extents ask of whoever writes a kernel, in values `N`: an `Emitter`, or the builder of one backend's text. */
export interface ExtentMath<N extends string, Truth = unknown> {
  constant(type: "u32", value: number): N;
  add(a: N, b: Extent<N>): N;
  mul(a: N, b: Extent<N>): N;
  /** `floor(a / b)`; anything for a zero divisor, without a trap. */
  quotient(a: N, b: Extent<N>): N;
  remainder(a: N, b: Extent<N>): N;
  compare(comparison: "lt", a: N, b: Extent<N>): Truth;
}

// What writes the kernel has methods for other types, too: `N` is inferred from the extents.
type Writer<N extends string> = ExtentMath<NoInfer<N>>;

/** `a * b` */
export function times<N extends string>(k: Writer<N>, a: Extent<N>, b: Extent<N>): Extent<N> {
  if (typeof a === "number") return typeof b === "number" ? a * b : times(k, b, a);
  if (b === 0) return 0;
  return b === 1 ? a : k.mul(a, b);
}

/** `a + b` */
export function plus<N extends string>(k: Writer<N>, a: Extent<N>, b: Extent<N>): Extent<N> {
  if (typeof a === "number") return typeof b === "number" ? a + b : plus(k, b, a);
  return b === 0 ? a : k.add(a, b);
}

/** `a * b + c` */
export function timesPlus<N extends string>(k: Writer<N>, a: Extent<N>, b: Extent<N>, c: Extent<N>): Extent<N> {
  return plus(k, times(k, a, b), c);
}

/** All extents multiplied; 1 for none. */
export function product<N extends string>(k: Writer<N>, extents: readonly Extent<N>[]): Extent<N> {
  return extents.reduce<Extent<N>>((a, b) => times(k, a, b), 1);
}

/** `[floor(a / b), a mod b]`; a zero divisor gives anything, without a trap. */
export function divide<N extends string>(k: Writer<N>, a: Extent<N>, b: Extent<N>): readonly [Extent<N>, Extent<N>] {
  if (b === 1 || b === 0) return [a, 0];
  if (typeof a === "number" && typeof b === "number") return [Math.floor(a / b), a % b];
  const dividend = asValue(k, a);
  return [k.quotient(dividend, b), k.remainder(dividend, b)];
}

/** A value of an extent, a constant for a number. */
export function asValue<N extends string>(k: Writer<N>, a: Extent<N>): N {
  return typeof a === "number" ? k.constant("u32", a) : a;
}

/** `a < b` */
export function isBelow<N extends string, Truth>(k: ExtentMath<NoInfer<N>, Truth>, a: Extent<N>, b: Extent<N>): Truth {
  return k.compare("lt", asValue(k, a), b);
}

/** Row-major strides of a shape. */
export function stridesOf<N extends string>(k: Writer<N>, shape: readonly Extent<N>[]): readonly Extent<N>[] {
  const strides: Extent<N>[] = [];
  let stride: Extent<N> = 1;
  for (const extent of shape.toReversed()) {
    strides.unshift(stride);
    stride = times(k, stride, extent);
  }
  return strides;
}

/** The indices of a flat index along each axis of a shape. */
export function unflatten<N extends string>(k: Writer<N>, index: Extent<N>, shape: readonly Extent<N>[]): readonly Extent<N>[] {
  const indices: Extent<N>[] = [];
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
export function offset<N extends string>(k: Writer<N>, indices: readonly Extent<N>[], strides: readonly Extent<N>[]): Extent<N> {
  return indices.reduce<Extent<N>>((sum, index, axis) => timesPlus(k, index, strides[axis]!, sum), 0);
}
