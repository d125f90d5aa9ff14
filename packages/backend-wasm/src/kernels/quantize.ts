import { elementCount, layoutOf } from "@centella/core/backend";
import type { Kernel } from "../kernel.ts";
import { lazyPart } from "../linking/lazyParts.ts";
import { ranges } from "./shared/axes.ts";

export const quantize: Kernel<"quantize"> = {
  build({ emit, reserve, maxThreads }, [x], { dtype }, y) {
    const { emitQuantize, quantizeScratchBytes } = lazyPart("encoders");
    const call = emit(`quantize ${dtype}`, (module, name) => emitQuantize(module, name, dtype));
    const { elements } = layoutOf(dtype);
    reserve(quantizeScratchBytes * maxThreads);
    return (run) => {
      const count = elementCount(run.shape(y)) / elements;
      // Searches pass about twenty times over the four blocks of a unit.
      return ranges(call, [run.address(x), run.address(y), count, run.scratch], Math.ceil(count / 4), 4 * elements * 16);
    };
  },
};
