import type { DType, Shape, TensorSpec } from "@centella/core";
import { elementAt, mapTuple, sameShape } from "@centella/core/backend";
import type { Emitter, F32, I32, NumberType, U32, Value } from "../emitter.ts";
import { type Extent, offset, stridesOf, unflatten } from "../extent.ts";
import { type GpuArguments, type GpuCall, type GpuElement, type GpuKernel, type GpuScope, type GpuStep, input, output } from "../kernel.ts";

/** Required inputs of a call. */
export type RequiredSpecs = readonly TensorSpec[];

/** Unary op on f32. NaN stays NaN, regardless of what `f` returns for it. */
export function unary<P extends object>(
  f: (k: Emitter, x: F32, number: (name: string) => F32) => F32,
): GpuKernel<P, readonly [TensorSpec]> {
  return elementwise((k, [x], number) => k.select(k.isNaN(x), x, f(k, x, number)));
}

/** A binary op with broadcasting, on f32 and, where `ofIntegers` is given, on i32. */
export function binary(
  of: (k: Emitter, a: F32, b: F32) => F32,
  ofIntegers?: (k: Emitter, a: I32, b: I32) => I32,
): GpuKernel<object, readonly [TensorSpec, TensorSpec]> {
  return elementwise((k, [a, b]) => of(k, a, b), ofIntegers && ((k, [a, b]) => ofIntegers(k, a, b)));
}

/** Elementwise op with broadcasting. */
export function elementwise<P extends object, const Inputs extends RequiredSpecs>(
  of: (k: Emitter, inputs: { readonly [I in keyof Inputs]: F32 }, number: (name: string) => F32) => F32,
  ofIntegers?: (k: Emitter, inputs: { readonly [I in keyof Inputs]: I32 }) => I32,
): GpuKernel<P, Inputs> {
  const element: GpuElement = { of, ...(ofIntegers && { ofIntegers }) };
  return {
    element,
    steps: (call, params) => [
      broadcastMap(call, (scope, inputs) => {
        const { dtype } = call.output;
        const values = inputs.map(({ name, at }) => loadElement(scope.k, dtype, name, at));
        return computeElement(scope.k, element, dtype, values, (name) => scope.number(name, numberOf(params, name)));
      }),
    ],
  };
}

/** An element of a float or i32 argument. */
export function loadElement(k: Emitter, dtype: DType, name: string, index: U32 | number): F32 | I32 {
  return dtype === "i32" ? k.loadInteger(name, index) : k.load(name, index);
}

/** An elementwise op on elements of its result's dtype. */
export function computeElement(
  k: Emitter,
  { of, ofIntegers }: GpuElement,
  dtype: DType,
  values: readonly (F32 | I32)[],
  number: (name: string) => F32,
): F32 | I32 {
  if (dtype === "i32" && ofIntegers !== undefined) return ofIntegers(k, values as readonly I32[]);
  return of(k, values as readonly F32[], number, dtype);
}

/** A numeric parameter of a call, by its name. */
export function numberOf(params: object, name: string): number {
  return Number((params as Readonly<Record<string, unknown>>)[name]);
}

/** The argument of an input that broadcasts, and the index of its element. */
export interface BroadcastInput {
  readonly name: string;
  readonly at: Extent;
}

/** A lane for each element of the output. */
export function broadcastMap<const Inputs extends RequiredSpecs>(
  call: GpuCall<Inputs>,
  body: (scope: GpuScope, inputs: { readonly [I in keyof Inputs]: BroadcastInput }) => Value<NumberType>,
): GpuStep {
  const { inputs, output: y } = call;
  const nameOf = (i: number): string => `x${i}`;
  const args: GpuArguments = { ...Object.fromEntries(inputs.map((_, i) => [nameOf(i), input(call, i)])), y: output(call) };
  const shapes = inputs.map(({ shape }) => shape);
  return {
    kind: "map",
    name: inputs.map(({ dtype }) => dtype).join("_"),
    args,
    shape: y.shape,
    to: "y",
    isElementwise: true,
    body(scope, index) {
      const indices = broadcastIndices(scope, y.shape, shapes, index);
      return body(
        scope,
        mapTuple(inputs, (_, i) => ({ name: nameOf(i), at: elementAt(indices, i) })),
      );
    },
  };
}

/** Flat indices into inputs that broadcast to `shape`, for element `index` of `shape`. */
export function broadcastIndices(scope: GpuScope, shape: Shape, inputs: readonly Shape[], index: Extent): readonly Extent[] {
  const { k } = scope;
  let indices: readonly Extent[] | undefined;
  return inputs.map((from) => {
    if (sameShape(from, shape)) return index;
    if (from.every((dim) => dim === 1)) return 0;
    indices ??= unflatten(k, index, scope.extents(shape));
    const strides = stridesOf(k, scope.extents(from)).map((stride, axis) => (from[axis] === 1 ? 0 : stride));
    return offset(k, indices.slice(shape.length - from.length), strides);
  });
}
