import { exactAttention } from "./attention/exact.ts";
import { fewQueries } from "./attention/fewQueries.ts";
import { manyQueries } from "./attention/manyQueries.ts";
import { sizesOf } from "./attention/problem.ts";
import { isFixed, type KernelOf } from "./shared/kernel.ts";

export const attention: KernelOf<"attention"> = {
  unsupported: ([q, cache]) => {
    return isFixed(q.shape[1], q.shape[2], ...cache.shape.slice(1)) ? undefined : "no kernel for symbolic heads or head sizes";
  },
  launches(call, params) {
    const sizes = sizesOf(call, params);
    if (sizes === undefined) return [exactAttention(call, params)];
    return [(sizes.isPrompt ? manyQueries : fewQueries)(call, params, sizes)];
  },
};
