import type { U32 } from "../emitter.ts";
import { asValue, type Extent, unflatten } from "../extent.ts";
import { type GpuCall, type GpuScope, type GpuStep, input, output } from "../kernel.ts";

/** A lane per element of the output, which copies the bits at `from(indices)` of the first input. */
export function copyFrom(call: GpuCall, from: (scope: GpuScope, indices: readonly Extent[]) => Extent): GpuStep {
  const { shape, dtype } = call.output;
  return {
    kind: "map",
    name: dtype,
    args: { x: input(call, 0), y: output(call) },
    shape,
    to: "y",
    body: (scope, index): U32 => {
      const { k } = scope;
      return k.loadBits("x", asValue(k, from(scope, unflatten(k, index, scope.extents(shape)))));
    },
  };
}

/** `axis` counted from the front. */
export function normalAxis(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}
