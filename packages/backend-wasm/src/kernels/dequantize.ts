import { elementCount, isQuantized, layoutOf } from "@centella/core";
import { codecs } from "../codecs.ts";
import { expressionKernel } from "../elementwise/kernel.ts";
import type { Kernel } from "../kernel.ts";

/** Elements between two pauses: whole blocks of every type. */
const chunk = 1 << 16;

/** Halves are widened in a loop; blocks are decoded in JavaScript, for weights are multiplied and looked up as they are. */
export const dequantize: Kernel = {
  build(context, inputs, params, y) {
    const [x] = inputs;
    const { dtype } = x!.spec;
    if (!isQuantized(dtype)) return expressionKernel("cast").build(context, inputs, params, y);
    const { heap } = context;
    const { elements, bytes } = layoutOf(dtype);
    return function* (run) {
      const { dequantize: decode } = codecs();
      const [from, to, count] = [run.address(x!), run.address(y) / 4, elementCount(run.shape(y))];
      for (let at = 0; at < count; at += chunk) {
        const end = Math.min(count, at + chunk);
        decode(
          dtype,
          heap.u8.subarray(from + (at / elements) * bytes, from + (end / elements) * bytes),
          heap.f32.subarray(to + at, to + end),
        );
        yield;
      }
    };
  },
};
