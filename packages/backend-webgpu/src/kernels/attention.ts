import type { ParamsOf } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import type { Capabilities } from "../device/capabilities.ts";
import { defineDispatch, output } from "../wgsl/module.ts";
import { type AttentionCall, attentionBindings, tokenUniforms, tokenValues } from "./attention/attentionCall.ts";
import { gatherTerms, termsOf } from "./attention/attentionScores.ts";
import { join, type Shares, sharesOf, sums } from "./attention/attentionSums.ts";
import { flashAttention } from "./attention/flashAttention.ts";
import { flashFormOf, flashGroups } from "./attention/flashForm.ts";
import { leastSharedPositions, sharedText } from "./attention/sharedAttention.ts";
import { roundsOf, type SharedForm, sharedFormOf } from "./attention/sharedForm.ts";
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
  return {
    unsupported([q]) {
      const dK = maximum(elementAt(q.shape, 2));
      return dK > longestQuery ? `dK = ${dK} is above ${longestQuery}, what workgroup memory holds` : undefined;
    },
    dispatches(call, params) {
      const [q, cache, , , , , sinks, bias] = call.inputs;
      const [tokens, heads, kvHeads] = [elementAt(q.shape, 0), elementAt(q.shape, 1), elementAt(cache.shape, 1)];
      const hasHeads = typeof heads === "number" && typeof kvHeads === "number";
      const shared = hasHeads ? sharedFormOf(call, heads / kvHeads, capabilities) : undefined;
      const isShared = shared !== undefined;
      // Workgroups of a token: heads of the same keys share one, or each has its own.
      const perToken = maximum(heads) / (shared?.heads ?? 1);
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
      const own = (part: Shares): Dispatch => (isShared ? sharedSums(call, params, part, shared) : sums(call, params, part));
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

/** Most rounds of keys and values that a lane reads before it uses them, if a position takes no more: for few queries, and for many. */
const roundsAhead = { few: 8, many: 4 } as const;

/** Attention of a workgroup whose lanes share positions and whose query heads share keys. */
function sharedSums(call: AttentionCall, params: Params, { parts, apart, takes }: Shares, form: SharedForm): Dispatch {
  const atOnceTokens = parts > 1 ? 1 : Math.max(1, Math.floor(form.mostRows / form.heads));
  const terms = termsOf(call, params, parts === 1);
  const rounds = roundsOf(form.dK, form.perPosition) + roundsOf(form.dV, form.perPosition);
  // Each position that is read ahead has a text of its own, which bounded scores make long.
  const ahead = params.softcap > 0 ? 1 : Math.max(1, Math.floor(roundsAhead[parts > 1 ? "few" : "many"] / rounds));
  const { declarations, body } = sharedText({ ...form, params, tokens: atOnceTokens, parts, ahead, terms });
  return defineDispatch({
    bindings: [
      ...attentionBindings("vec4f", form.cache.element),
      ...terms.bindings,
      parts > 1 ? sharesOf(call, parts, apart) : output("y"),
    ],
    uniforms: tokenUniforms,
    lanes: form.lanes,
    declarations,
    body,
    sizeIn(dims) {
      const values = tokenValues(call, params, dims);
      const { tokens, heads } = values;
      return { groups: takes(tokens) ? Math.ceil(tokens / atOnceTokens) * (heads / form.heads) * parts : 0, values };
    },
  });
}
