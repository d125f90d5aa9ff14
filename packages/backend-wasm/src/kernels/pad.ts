import { elementCount } from "@centella/core/backend";
import type { Kernel } from "../kernel.ts";
import { axesOf, bitsOf, blockCopy, filler, stridesOf } from "./shared/copies.ts";
import { zip } from "./shared/zip.ts";

export const pad: Kernel<"pad"> = {
  build(context, [x], { pads, value }, y) {
    const { dtype } = y.spec;
    const copy = blockCopy(context, dtype, y.spec.shape.length);
    const fill = filler(context, dtype);
    return function* (run) {
      const [source, shape] = [run.shape(x), run.shape(y)];
      const strides = stridesOf(shape);
      yield* fill(run.address(y), elementCount(shape), bitsOf(dtype, value));
      const to = zip(pads, strides).reduce((sum, [[before], stride]) => sum + before * stride, 0);
      yield* copy(run.address(x), run.address(y), { axes: axesOf(source, stridesOf(source), strides), from: 0, to });
    };
  },
};
