import { type Shape, sameShape } from "@centella/core";
import type { Emitter, F32, U32 } from "../emitter.ts";
import { type Extent, offset, stridesOf, unflatten } from "../extent.ts";
import { type GpuArguments, type GpuCall, type GpuElement, type GpuKernel, type GpuScope, input, output } from "../kernel.ts";

/** A unary op on f32; a NaN stays one, whatever `f` makes of it. Numeric parameters are had by name. */
export function unary<P extends object>(f: (k: Emitter, x: F32, number: (name: string) => F32) => F32): GpuKernel<P> {
  return elementwise(1, (k, [x], number) => k.select(k.isNaN(x!), x!, f(k, x!, number)));
}

/** An op on f32 element by element, its inputs broadcast. */
export function elementwise<P extends object>(arity: GpuElement["arity"], of: GpuElement["of"]): GpuKernel<P> {
  return {
    element: { arity, of },
    steps: (call, params) => [
      broadcastMap(call, (scope, names, at) => {
        const { k } = scope;
        const values = names.map((name, i) => k.load(name, at[i]!));
        return k.bitcast(
          "u32",
          of(k, values, (name) => scope.number(Number((params as Readonly<Record<string, unknown>>)[name]))),
        );
      }),
    ],
  };
}

/** A lane for each element of the output: `body` sees the names of the inputs and where their elements are. */
export function broadcastMap(
  call: GpuCall,
  body: (scope: GpuScope, names: readonly string[], at: readonly (U32 | number)[]) => U32,
): ReturnType<GpuKernel["steps"]>[number] {
  const { inputs, output: y } = call;
  const names = inputs.map((_, i) => `x${i}`);
  const args: GpuArguments = { ...Object.fromEntries(names.map((name, i) => [name, input(call, i)])), y: output(call) };
  const shapes = inputs.map((spec) => spec!.shape);
  return {
    kind: "map",
    name: inputs.map((spec) => spec!.dtype).join("_"),
    args,
    shape: y.shape,
    to: "y",
    body: (scope, index) => body(scope, names, broadcastIndices(scope, y.shape, shapes, index)),
  };
}

/** Flat indices into inputs that broadcast to `shape`, for the element `index` of it. */
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
