import type { ParamsOf, TensorSpec } from "@centella/core";
import { tupleOf } from "@centella/core/backend";
import type { Emitter, F32, U32, Variable } from "../emitter.ts";
import { asValue, plus, times, timesPlus, unflatten } from "../extent.ts";
import { type GpuCall, type GpuStep, input, output } from "../kernel.ts";

/** A lane per window. `fold` adds the window's elements, without padding, to the variable; `finish` receives their number. */
export function pool(
  call: GpuCall<readonly [TensorSpec]>,
  { kernel, stride, padding }: ParamsOf<"maxPool2d">,
  name: string,
  initial: number,
  fold: (k: Emitter, value: Variable<"f32">, x: F32) => void,
  finish: (k: Emitter, value: F32, count: U32) => F32,
): GpuStep {
  const [height, width] = call.inputs[0].shape.slice(2) as [number, number];
  const [down, across] = stride ?? kernel;
  return {
    kind: "map",
    name,
    args: { x: input(call, 0), y: output(call) },
    shape: call.output.shape,
    to: "y",
    body: (scope, index) => {
      const { k } = scope;
      const extents = scope.extents(tupleOf(call.output.shape, 4));
      const [item, channel, row, column] = unflatten(k, index, extents);
      const plane = timesPlus(k, item, extents[1], channel);
      const value = k.variable("f32", initial);
      const count = k.variable("u32", 0);
      // Negative places wrap to beyond the image: one unsigned comparison tests both borders.
      const top = k.sub(asValue(k, times(k, row, scope.whole(down))), scope.whole(padding[0]));
      const left = k.sub(asValue(k, times(k, column, scope.whole(across))), scope.whole(padding[1]));
      k.for(0, scope.whole(kernel[0]), 1, (i) => {
        const y = k.add(top, i);
        k.if(k.compare("lt", y, scope.whole(height)), () =>
          k.for(0, scope.whole(kernel[1]), 1, (j) => {
            const x = k.add(left, j);
            k.if(k.compare("lt", x, scope.whole(width)), () => {
              const line = timesPlus(k, plane, scope.whole(height), y);
              fold(k, value, k.load("x", asValue(k, plus(k, times(k, line, scope.whole(width)), x))));
              count.set(k.add(count.get(), 1));
            });
          }),
        );
      });
      return k.bitcast("u32", finish(k, value.get(), count.get()));
    },
  };
}
