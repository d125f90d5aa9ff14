import { elementCount } from "@centella/core/backend";
import type { Kernel } from "../kernel.ts";
import { emitSample } from "../sampling/sample.ts";
import { ranges } from "./shared/axes.ts";
import { capacity, entryBytes } from "./shared/order.ts";

export const sample: Kernel<"sample"> = {
  build({ emit, reserve, maxThreads }, [logits, position], { seed, temperature, topK, topP, minP }, y) {
    const call = emit("sample", emitSample);
    const n = logits.spec.shape.at(-1) as number;
    // Top-k sorts its candidates; top-p alone sorts all of them.
    const sorted = topK > 0 ? Math.min(topK, n) : topP < 1 ? n : 0;
    const most = sorted > 0 ? capacity(n, sorted) : n;
    const threadScratchBytes = entryBytes * most;
    reserve(2 * threadScratchBytes * maxThreads);
    const logMinP = minP > 0 ? Math.log(minP) : Number.NEGATIVE_INFINITY;
    const options = [n, sorted, most, topP, temperature, logMinP, seed | 0, Math.floor(seed / 2 ** 32) | 0, Number(topK > 0)];
    return (run) => {
      const addresses = [run.address(logits), run.address(position), run.address(y)];
      return ranges(call, [...addresses, ...options, run.scratch, threadScratchBytes], elementCount(run.shape(y)), 16 * n);
    };
  },
};
