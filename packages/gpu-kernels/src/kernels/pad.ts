import type { DType } from "@centella/core";
import { elementAt, layoutOf } from "@centella/core/backend";
import { asValue, isBelow, offset, stridesOf, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { countOf, movedIf, moveStep, unitsOf } from "../shared/moving.ts";
import { bitsOf } from "../shared/values.ts";

export const pad: GpuKernelOf<"pad"> = {
  steps: (call, { pads, value }) => {
    const { shape } = call.inputs[0];
    const { dtype, shape: padded } = call.output;
    // The last padded axis and those after it are one: its elements follow one another in both tensors.
    const last = Math.max(
      0,
      pads.findLastIndex(([before, after]) => before + after > 0),
    );
    const inner = shape.slice(last + 1);
    const outer = padded.slice(0, last);
    const { arePieces, counts } = unitsOf(dtype, {
      run: shape.slice(last),
      row: padded.slice(last),
      before: [pads[last]?.[0] ?? 0, ...inner],
    });
    return [
      moveStep({
        name: dtype,
        args: { x: input(call, 0), y: output(call) },
        shape: [...outer, ...counts.row],
        arePieces,
        from: (scope, index, load) => {
          const { k } = scope;
          const extents = [...scope.extents(shape.slice(0, last)), countOf(scope, counts.run)];
          const starts = [...pads.slice(0, last).map(([before]) => scope.whole(before)), countOf(scope, counts.before)];
          // Places before the start wrap to beyond every extent: one unsigned comparison tests both borders.
          const places = unflatten(k, index, [...scope.extents(outer), countOf(scope, counts.row)]).map((place, axis) => {
            const start = elementAt(starts, axis);
            return start === 0 ? place : k.sub(asValue(k, place), start);
          });
          const inside = places.map((place, axis) => isBelow(k, place, elementAt(extents, axis)));
          const filling = asValue(k, scope.whole(fillingOf(dtype, value, arePieces)));
          return movedIf(
            k,
            inside.reduce((all, each) => k.both(all, each)),
            () => load("x", asValue(k, offset(k, places, stridesOf(k, extents)))),
            arePieces ? [filling, filling, filling, filling] : [filling],
          );
        },
      }),
    ];
  },
};

/** A word of the value's bits, or those of one element. */
function fillingOf(dtype: DType, value: number, isWord: boolean): number {
  const width = 8 * layoutOf(dtype).bytes;
  const bits = bitsOf(dtype, value);
  return isWord ? bits * Array.from({ length: 32 / width }, (_, i) => 2 ** (i * width)).reduce((a, b) => a + b) : bits;
}
