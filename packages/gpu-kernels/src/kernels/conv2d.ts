import { tupleOf } from "@centella/core/backend";
import type { Emitter, U32 } from "../emitter.ts";
import { asValue, divide, type Extent, isBelow, offset, stridesOf, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";

/** A lane per output element, no tiling. */
export const conv2d: GpuKernelOf<"conv2d"> = {
  steps: (call, { stride, padding, dilation, groups }) => [
    {
      kind: "map",
      name: "",
      args: { x: input(call, 0), w: input(call, 1), y: output(call) },
      shape: call.output.shape,
      to: "y",
      body: (scope, index) => {
        const { k } = scope;
        const [x, w] = call.inputs;
        const [image, channel, row, column] = unflatten(k, index, scope.extents(tupleOf(call.output.shape, 4)));
        const [, , height, width] = scope.extents(tupleOf(x.shape, 4));
        const [filters, channels, rows, columns] = scope.extents(tupleOf(w.shape, 4));
        const [xStrides, wStrides] = [stridesOf(k, scope.extents(x.shape)), stridesOf(k, scope.extents(w.shape))];
        const [group] = divide(k, channel, divide(k, filters, scope.whole(groups))[0]);
        const place = (out: Extent, axis: 0 | 1, i: U32): U32 =>
          inputPlace(k, out, i, {
            stride: scope.whole(stride[axis]),
            dilation: scope.whole(dilation[axis]),
            padding: scope.whole(padding[axis]),
          });
        const sum = k.variable("f32", 0);
        k.for(0, channels, 1, (c) =>
          k.for(0, rows, 1, (i) => {
            const y = place(row, 0, i);
            k.if(isBelow(k, y, height), () =>
              k.for(0, columns, 1, (j) => {
                const z = place(column, 1, j);
                k.if(isBelow(k, z, width), () => {
                  const at = offset(k, [image, timesPlus(k, group, channels, c), y, z], xStrides);
                  const weight = offset(k, [channel, c, i, j], wStrides);
                  sum.set(k.fma(k.load("x", at), k.load("w", weight), sum.get()));
                });
              }),
            );
          }),
        );
        return sum.get();
      },
    },
  ],
};

/** Place along an axis of the image. Places before the image wrap to beyond every extent: one unsigned comparison tests both borders. */
function inputPlace(
  k: Emitter,
  out: Extent,
  i: U32,
  { stride, dilation, padding }: Readonly<Record<"stride" | "dilation" | "padding", Extent>>,
): U32 {
  return k.sub(asValue(k, timesPlus(k, out, stride, k.mul(i, dilation))), padding);
}
