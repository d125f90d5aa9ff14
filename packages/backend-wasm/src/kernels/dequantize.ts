import { elementCount, isQuantized, layoutOf } from "@centella/core/backend";
import type { BlockType } from "@centella/quant";
import { expressionKernel } from "../elementwise/kernel.ts";
import type { Kernel } from "../kernel.ts";
import { lazyPart } from "../linking/lazyParts.ts";
import { ranges } from "./shared/axes.ts";

/** Halves are widened in an elementwise loop. Each block type has its own loop over blocks. */
export const dequantize: Kernel<"dequantize"> = {
  build(context, [x], params, y) {
    const { dtype } = x.spec;
    if (!isQuantized(dtype)) return expressionKernel("cast").build(context, [x], params, y);
    const type = dtype as BlockType;
    const { emitDequantize, gridOf } = lazyPart("lookUp");
    const call = context.emit(`dequantize ${type}`, (module, name, target) => emitDequantize(module, name, target, type));
    const grid = gridOf(context, type);
    const { elements } = layoutOf(dtype);
    return (run) => ranges(call, [run.address(x), run.address(y), grid()], elementCount(run.shape(y)) / elements, elements);
  },
};
