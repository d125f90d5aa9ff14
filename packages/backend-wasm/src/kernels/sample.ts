import { elementAt, elementCount } from "@centella/core/backend";
import type { Kernel } from "../kernel.ts";
import { blockLength } from "../sampling/row.ts";
import { emitSample } from "../sampling/sample.ts";
import { entryBytes } from "./shared/order.ts";

export const sample: Kernel<"sample"> = {
  emit: (module) => emitSample(module, "sample"),
  build({ exports, reserve }, [logits, position, seed, temperature, topK, topP, minP, mask, maskRow], _params, y) {
    const fn = exports("sample");
    const n = logits.spec.shape.at(-1) as number;
    const maximaBytes = 16 * Math.ceil(n / blockLength / 4);
    // One thread computes all rows, so that the memory for a whole row of entries is needed once.
    reserve(maximaBytes + 2 * entryBytes * n);
    return (run) => {
      const addresses = [logits, position, seed, temperature, topK, topP, minP].map((operand) => run.address(operand));
      const masks =
        mask === undefined || maskRow === undefined ? [0, 0, 0] : [run.address(mask), run.address(maskRow), elementAt(run.shape(mask), 0)];
      const a = run.scratch + maximaBytes;
      return [[{ fn, args: [...addresses, ...masks, run.address(y), n, elementCount(run.shape(y)), run.scratch, a, a + entryBytes * n] }]];
    };
  },
};
