import { elementAt } from "@centella/core/backend";
import { asValue, isBelow, offset, stridesOf, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { bitsOf } from "../shared/values.ts";

export const pad: GpuKernelOf<"pad"> = {
  steps: (call, { pads, value }) => {
    const { shape } = call.inputs[0];
    const { dtype, shape: padded } = call.output;
    return [
      {
        kind: "map",
        name: dtype,
        args: { x: input(call, 0), y: output(call) },
        shape: padded,
        to: "y",
        body: (scope, index) => {
          const { k } = scope;
          const extents = scope.extents(shape);
          // Places before the start wrap to beyond every extent: one unsigned comparison tests both borders.
          const places = unflatten(k, index, scope.extents(padded)).map((place, axis) => {
            const [before] = elementAt(pads, axis);
            return before === 0 ? place : k.sub(asValue(k, place), scope.whole(before));
          });
          const bits = k.variable("u32", asValue(k, scope.whole(bitsOf(dtype, value))));
          const inside = places.map((place, axis) => isBelow(k, place, elementAt(extents, axis)));
          const test = inside.reduce((all, each) => k.both(all, each), k.compare("eq", k.constant("u32", 0), 0));
          k.if(test, () => bits.set(k.loadBits("x", asValue(k, offset(k, places, stridesOf(k, extents))))));
          return bits.get();
        },
      },
    ];
  },
};
