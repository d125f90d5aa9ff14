import type { ParamsOf } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import { type Capabilities, subgroupLanes } from "../device/capabilities.ts";
import { defineDispatch, input, output } from "../wgsl/module.ts";
import { type AttentionCall, tokenUniforms, tokenValues } from "./attention/attentionCall.ts";
import { gatherTerms, termsOf } from "./attention/attentionScores.ts";
import { join, type Shares, sharesOf, sums } from "./attention/attentionSums.ts";
import { cacheElements } from "./attention/cacheElements.ts";
import { flashAttention } from "./attention/flashAttention.ts";
import { flashFormOf, flashGroups } from "./attention/flashForm.ts";
import { headsAtOnce, isShareable, leastSharedPositions, type SharedForm, sharedLanes, sharedText } from "./attention/sharedAttention.ts";
import type { Dispatch, KernelOf } from "./shared/kernel.ts";
import { maximum } from "./shared/shape.ts";

/** Most elements of a query: every device has 16 KiB of workgroup memory, and the lanes' values take up to 6 KiB of it. */
const longestQuery = 2560;

/** Workgroups that share the positions of a query where there are few queries. */
const sharers = 16;

/** From this number of queries times heads on, a workgroup computes each alone. */
const enoughGroups = 1024;

/** The same where lanes share positions: workgroups that share a query, at most, and the number of workgroups from which on they do not. */
const mostSharers = 32;
const enoughShared = 256;

/** From this number of workgroups on, tiles keep a device busy. */
const enoughTiles = 64;

type Params = ParamsOf<"attention">;

/**
 * One pass over the cache with an online softmax. Few queries are shared by several workgroups, whose sums a further dispatch joins. Scores
 * must not be NaN.
 */
export function attentionFor(capabilities: Capabilities): KernelOf<"attention"> {
  const subgroup = subgroupLanes(capabilities);
  return {
    unsupported([q]) {
      const dK = maximum(elementAt(q.shape, 2));
      return dK > longestQuery ? `dK = ${dK} is above ${longestQuery}, what workgroup memory holds` : undefined;
    },
    dispatches(call, params) {
      const [q, cache, , , , , sinks, bias] = call.inputs;
      const [tokens, heads, kvHeads] = [elementAt(q.shape, 0), elementAt(q.shape, 1), elementAt(cache.shape, 1)];
      const hasHeads = typeof heads === "number" && typeof kvHeads === "number";
      const isShared = hasHeads && isShareable(maximum(elementAt(q.shape, 2)), maximum(elementAt(call.output.shape, 2)), subgroup);
      const atOnce = isShared ? headsAtOnce(heads / kvHeads) : 1;
      // Workgroups of a token: lanes share the heads of the same keys, or each head has its own.
      const perToken = maximum(heads) / atOnce;
      const isMany = (count: number): boolean => count * perToken >= (isShared ? enoughShared : enoughGroups);
      const fewest = typeof tokens === "number" ? tokens : 0;
      const most = maximum(tokens);
      const apart = Math.min(most, Math.ceil((isShared ? enoughShared : enoughGroups) / perToken) - 1);
      const tiles = hasHeads ? flashFormOf(call, heads / kvHeads, capabilities) : undefined;
      const isTiled = (count: number): boolean => tiles !== undefined && flashGroups(count, maximum(heads), tiles) >= enoughTiles;
      const shares = {
        parts: isShared ? sharersOf(call, params) : sharers,
        apart,
        takes: (count: number) => !isMany(count) && !isTiled(count),
      };
      const alone = { parts: 1, apart, takes: (count: number) => isMany(count) && !isTiled(count) };
      const own = (form: Shares): Dispatch =>
        isShared ? sharedSums(call, params, form, { heads: atOnce, subgroup }) : sums(call, params, form);
      const hasBoth = sinks !== undefined && bias !== undefined;
      return [
        ...(hasBoth && (isMany(most) || isTiled(most)) ? [gatherTerms(call, (count) => isMany(count) || isTiled(count))] : []),
        ...(isMany(fewest) || isTiled(fewest) ? [] : [own(shares), join(call, shares)]),
        ...(isMany(most) && !isTiled(fewest) ? [own(alone)] : []),
        ...(tiles !== undefined && isTiled(most) ? [flashAttention(call, params, tiles, isTiled)] : []),
      ];
    },
  };
}

/** Workgroups that share the positions of a query where lanes share these: no more than have a share if the cache is full. */
function sharersOf({ inputs: [, , , , blockTable] }: AttentionCall, { blockSize }: Params): number {
  const positions = maximum(elementAt(blockTable.shape, 1)) * blockSize;
  let parts = 2;
  while (parts < mostSharers && parts * leastSharedPositions < positions) parts *= 2;
  return parts;
}

/** Rows of queries that a workgroup with {@link sharedText} has, where there are many. */
const rowsAtOnce = 8;

/** Attention of a workgroup whose lanes share positions and whose query heads share keys. */
function sharedSums(
  call: AttentionCall,
  params: Params,
  { parts, apart, takes }: Shares,
  { heads: atOnce, subgroup }: Pick<SharedForm, "heads" | "subgroup">,
): Dispatch {
  const {
    inputs: [, { dtype }],
    output: y,
  } = call;
  const { softcap } = params;
  const atOnceTokens = parts > 1 ? 1 : Math.max(1, Math.floor(rowsAtOnce / atOnce));
  const terms = termsOf(call, params, parts === 1);
  const cache = cacheElements(dtype);
  const size = maximum(elementAt(y.shape, 2));
  // Each position that is read ahead has a text of its own, which bounded scores make long.
  const ahead = softcap > 0 ? 1 : parts > 1 ? 4 : 2;
  const form = { size, cache, heads: atOnce, tokens: atOnceTokens, parts, ahead, subgroup, terms };
  const { declarations, body } = sharedText(params, form);
  return defineDispatch({
    bindings: [
      input("q", 0, "vec4f"),
      input("cache", 1, cache.element),
      input("positions", 2, "i32"),
      input("seqOf", 3, "i32"),
      input("blockTable", 4, "i32"),
      input("seqLens", 5, "i32"),
      ...terms.bindings,
      parts > 1 ? sharesOf(call, parts, apart) : output("y"),
    ],
    uniforms: tokenUniforms,
    lanes: sharedLanes,
    declarations,
    body,
    sizeIn(dims) {
      const values = tokenValues(call, params, dims);
      const { tokens, heads } = values;
      return { groups: takes(tokens) ? Math.ceil(tokens / atOnceTokens) * (heads / atOnce) * parts : 0, values };
    },
  });
}
