import { exactAttention } from "./attention/exact.ts";
import { fewQueries } from "./attention/fewQueries.ts";
import { manyQueries } from "./attention/manyQueries.ts";
import { sizesOf } from "./attention/problem.ts";
import { warpgroupQueries } from "./attention/warpgroupQueries.ts";
import { takesWarpgroups } from "./attention/warpgroupShape.ts";
import { isFixed, type KernelOf } from "./shared/kernel.ts";

export const attention: KernelOf<"attention"> = {
  unsupported: ([q, cache]) => {
    return isFixed(q.shape[1], q.shape[2], ...cache.shape.slice(1)) ? undefined : "no kernel for symbolic heads or head sizes";
  },
  launches(call, params) {
    const sizes = sizesOf(call, params);
    if (sizes === undefined) return [exactAttention(call, params)];
    if (!sizes.isPrompt) return [fewQueries(call, params, sizes)];
    return [(takesWarpgroups(call, params, sizes) ? warpgroupQueries : manyQueries)(call, params, sizes)];
  },
};
