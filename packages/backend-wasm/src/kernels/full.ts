import { elementCount } from "@centella/core/backend";
import type { Kernel } from "../kernel.ts";
import { bitsOf, filler } from "./shared/copies.ts";

export const full: Kernel<"full"> = {
  build(context, _inputs, { value, dtype }, y) {
    const fill = filler(context, dtype);
    return (run) => fill(run.address(y), elementCount(run.shape(y)), bitsOf(dtype, value));
  },
};
