import type { Shape } from "@centella/core";
import { elementAt, layoutOf } from "@centella/core/backend";
import type { U32 } from "../emitter.ts";
import { asValue, isBelow, plus, product, times, timesPlus, unflatten } from "../extent.ts";
import { type GpuCall, type GpuScope, type GpuStep, input, output } from "../kernel.ts";
import type { RequiredSpecs } from "./elementwise.ts";

/** Maximum inputs of a step: every device can bind eight tensors, and one is the output. */
const mostAtOnce = 7;

/** Joins tensors along an axis, on which tensor i has the extent `extents[i]`. `inner` are the axes after it. */
export function join(call: GpuCall<RequiredSpecs>, inner: Shape, extents: readonly number[]): readonly GpuStep[] {
  const { dtype, shape } = call.output;
  const total = extents.reduce((sum, extent) => sum + extent, 0);
  const tensors = extents.map((extent, index) => ({ index, extent, start: extents.slice(0, index).reduce((sum, each) => sum + each, 0) }));
  if (layoutOf(dtype).bytes < 4) {
    // One lane writes the elements that share a word. The first step takes as many tensors as can be bound; later steps add to its words.
    const launches = Math.ceil(extents.length / mostAtOnce);
    return Array.from({ length: launches }, (_, launch): GpuStep => {
      const from = launch * mostAtOnce;
      const bound = tensors.slice(from, from + mostAtOnce).map((tensor, i) => ({ name: `x${i}`, ...tensor }));
      return {
        kind: "map",
        name: launch === 0 ? dtype : `${dtype}_more`,
        args: { ...Object.fromEntries(bound.map(({ name, index }) => [name, input(call, index)])), y: output(call) },
        shape,
        to: "y",
        body: (scope, index) => {
          const { k } = scope;
          const width = product(k, scope.extents(inner));
          const [outer, place, within] = unflatten(k, index, [1, scope.whole(total), width]);
          const bits = k.variable("u32", launch === 0 ? 0 : k.loadBits("y", index));
          for (const { name, start, extent } of bound) {
            const at = k.sub(asValue(k, place), scope.whole(start));
            const size = scope.whole(extent);
            k.if(isBelow(k, at, size), () =>
              bits.set(k.loadBits(name, asValue(k, timesPlus(k, timesPlus(k, outer, size, at), width, within)))),
            );
          }
          return bits.get();
        },
      };
    });
  }
  // Whole words: a step for each tensor reads and writes every element once.
  return tensors.map(({ index: tensor, extent, start: first }): GpuStep => {
    const body = (scope: GpuScope, index: U32): void => {
      const { k } = scope;
      const width = product(k, scope.extents(inner));
      const [outer, along] = unflatten(k, index, [1, times(k, scope.whole(extent), width)]);
      const start = times(k, scope.whole(first), width);
      const to = plus(k, timesPlus(k, outer, times(k, scope.whole(total), width), along), start);
      k.store("y", to, k.loadBits("x", index));
    };
    return {
      kind: "each",
      name: dtype,
      args: { x: input(call, tensor), y: output(call) },
      shape: elementAt(call.inputs, tensor).shape,
      body,
    };
  });
}
