import type { ParamsOf } from "@centella/core";
import { asValue, divide, offset, stridesOf, times, unflatten } from "@centella/gpu-kernels";
import type { PtxBuilder } from "../ptx/builder.ts";
import type { Extent, U32 } from "../ptx/types.ts";
import { elementwise, input, type Kernel, output } from "./shared/kernel.ts";

/** One thread per output element, no tiling. */
export const conv2d: Kernel<ParamsOf<"conv2d">> = {
  launches: (call, { stride, padding, dilation, groups }) => {
    const [x, w] = call.inputs;
    const args = { x: input(0), w: input(1), y: output };
    return [
      elementwise(call, "conv2d", { shape: call.output.shape, args }, (scope, index) => {
        const { k, pointer } = scope;
        const [image, channel, row, column] = unflatten(k, index, scope.extents(call.output.shape));
        const xShape = scope.extents(x!.shape);
        const wShape = scope.extents(w!.shape);
        const [xStrides, wStrides] = [stridesOf(k, xShape), stridesOf(k, wShape)];
        const [xPointer, wPointer] = [pointer("x", "f32"), pointer("w", "f32")];
        const channels = wShape[1]!;
        const [outputsPerGroup] = divide(k, wShape[0]!, groups);
        const [group] = divide(k, channel!, outputsPerGroup);
        const firstChannel = times(k, group, channels);
        const sum = k.variable("f32", 0);
        k.for(0, channels, 1, (c) =>
          k.for(0, wShape[2]!, 1, (i) =>
            k.for(0, wShape[3]!, 1, (j) => {
              // Wraps below zero to beyond every extent: one unsigned comparison tests both borders.
              const y = inputPlace(k, row!, stride[0], i, dilation[0], padding[0]);
              const z = inputPlace(k, column!, stride[1], j, dilation[1], padding[1]);
              k.if(k.and(k.compare("lt", y, xShape[2]!), k.compare("lt", z, xShape[3]!)), () => {
                const at = offset(k, [image!, k.add(c, firstChannel), y, z], xStrides);
                const weight = offset(k, [channel!, c, i, j], wStrides);
                sum.accumulate(k.load("f32", k.at("f32", xPointer, at)), k.load("f32", k.at("f32", wPointer, weight)));
              });
            }),
          ),
        );
        k.store("f32", k.at("f32", pointer("y", "f32"), index), sum.get());
      }),
    ];
  },
};

function inputPlace(k: PtxBuilder, out: Extent, stride: number, tap: U32, dilation: number, padding: number): U32 {
  return k.sub(k.mad(asValue(k, out), stride, k.mul(tap, dilation)), padding);
}
