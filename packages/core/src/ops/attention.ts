import { ArgumentError, ShapeError } from "../errors.ts";
import type { HostTensor, Op } from "../op.ts";
import { byteLength, type ConcreteSpec, elementCount, formatSpec } from "../spec.ts";
import { requireAxes, requireBoolean, requireExtent, requireFinite, requireFromZero, requireShape, requireWhole } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";

export interface AttentionParams {
  /** Multiplies `q . k`, usually `1 / sqrt(dK)`. */
  readonly scale: number;
  /** Positions per block of the block table. */
  readonly blockSize: number;
  /** A query sees no position after its own. */
  readonly causal: boolean;
  /** A query sees its own and the `window - 1` positions before; 0 means all. */
  readonly window: number;
  /** Scores become `softcap * tanh(score / softcap)`; 0 means as they are. */
  readonly softcap: number;
  /** Largest bias of ALiBi (ggml's `max_bias`); 0 means none. */
  readonly alibi: number;
}

/**
 * Attention over a paged cache that `kvWrite` filled. Query `t` of sequence `s = seqOf[t]` sees the positions `j` in
 * `[0, seqLens[s])` that are not after `positions[t]` (if causal) and `> positions[t] - window` (if there is a window);
 * position `j` lies in slot `blockTable[s, floor(j / blockSize)] * blockSize + j % blockSize`. Head `h` reads head
 * `floor(h * Hkv / H)` of the cache: `score = scale * q . k`, soft-capped, plus `slope(h) * (j - positions[t])` with ALiBi;
 * `y = sum(softmax(score) * v)`. `sinks[h]` is one more logit in the softmax, without a value. A query that sees nothing gives 0.
 *
 * `q [T, H, dK], cache [S, Hkv, dK + dV] f32 | f16 | q8_0, positions [T], seqOf [T], blockTable [nSeq, maxBlocks],
 * seqLens [nSeq] i32, sinks [H] -> y [T, H, dV]`. One sequence is the table `[[0]]` with `blockSize = S`.
 *
 * Indices outside the tables are an error on the scalar reference; other backends take such positions as not seen.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const attention: Op<
  ["q", "cache", "positions", "seqOf", "blockTable", "seqLens"],
  AttentionParams,
  "causal" | "window" | "softcap" | "alibi",
  "sinks"
> = {
  name: "attention",
  computeBound: true,
  inputs: ["q", "cache", "positions", "seqOf", "blockTable", "seqLens"],
  optionalInputs: ["sinks"],
  defaults: { causal: true, window: 0, softcap: 0, alibi: 0 },
  required: ["scale", "blockSize"],
  infer([q, cache, positions, seqOf, blockTable, seqLens, sinks], params) {
    requireDType("attention", "q", q!, ["f32"]);
    requireDType("attention", "cache", cache!, ["f32", "f16", "q8_0"]);
    const [tokens, heads, keySize] = requireAxes("attention", "q", q!, ["T", "H", "dK"]);
    const [, kvHeads, width] = requireAxes("attention", "cache", cache!, ["S", "Hkv", "dK + dV"]);
    const [h, hkv] = [requireExtent("attention", "H of q", heads!), requireExtent("attention", "Hkv of cache", kvHeads!)];
    const dK = requireExtent("attention", "dK of q", keySize!);
    const dV = requireExtent("attention", "dK + dV of cache", width!) - dK;
    if (hkv === 0 || h % hkv !== 0) throw new ShapeError("attention", "H to be a multiple of Hkv", `H ${h} and Hkv ${hkv}`);
    if (dK < 1 || dV < 1) throw new ShapeError("attention", `cache [S, Hkv, dK + dV] with dK = ${dK}`, formatSpec(cache!));
    for (const [name, spec] of Object.entries({ positions, seqOf, blockTable, seqLens })) requireDType("attention", name, spec!, ["i32"]);
    requireShape("attention", "positions", positions!, [tokens!]);
    requireShape("attention", "seqOf", seqOf!, [tokens!]);
    const [sequences] = requireAxes("attention", "blockTable", blockTable!, ["nSeq", "maxBlocks"]);
    requireShape("attention", "seqLens", seqLens!, [sequences!]);
    if (sinks !== undefined) {
      requireDType("attention", "sinks", sinks, ["f32"]);
      requireShape("attention", "sinks", sinks, [h]);
    }
    requireFinite("attention", "scale", params.scale);
    requireWhole("attention", "blockSize", params.blockSize, 1);
    requireBoolean("attention", "causal", params.causal);
    requireWhole("attention", "window", params.window, 0);
    requireFromZero("attention", "softcap", params.softcap);
    requireFromZero("attention", "alibi", params.alibi);
    return { dtype: "f32", shape: [tokens!, h, dV] };
  },
  cost([q, cache, , , blockTable], { blockSize }, y) {
    const seen = Math.min(cache!.shape[0]!, blockTable!.shape[1]! * blockSize);
    return {
      flops: 2 * seen * (elementCount(q!.shape) + elementCount(y.shape)),
      bytes: byteLength(q!) + byteLength(cache!) + byteLength(y),
    };
  },
  reference([q, cache, positions, seqOf, blockTable, seqLens, sinks], params, y) {
    const { scale, softcap, alibi } = params;
    const [tokens, heads, dK] = triple(q!.spec);
    const [, kvHeads, width] = triple(cache!.spec);
    const dV = width - dK;
    const slopes = Array.from({ length: heads }, (_, h) => alibiSlope(h, heads, alibi));
    const [queries, kv, to] = [q!.data, cache!.data, y.data];
    const sum = new Float64Array(dV);
    for (let t = 0; t < tokens; t++) {
      const position = positions!.data[t]!;
      const { first, slots } = visibleSlots(position, seqOf!.data[t]!, cache!, blockTable!, seqLens!, params);
      const scores = new Float64Array(slots.length);
      for (let h = 0; h < heads; h++) {
        const row = Math.floor(h / (heads / kvHeads)) * width;
        const queryAt = (t * heads + h) * dK;
        const sink = sinks === undefined ? Number.NEGATIVE_INFINITY : sinks.data[h]!;
        let largest = sink;
        for (let i = 0; i < slots.length; i++) {
          const at = slots[i]! * kvHeads * width + row;
          let score = 0;
          for (let d = 0; d < dK; d++) score += queries[queryAt + d]! * kv[at + d]!;
          score *= scale;
          if (softcap > 0) score = softcap * Math.tanh(score / softcap);
          if (alibi > 0) score += slopes[h]! * (first + i - position);
          scores[i] = score;
          largest = Math.max(largest, score);
        }
        let total = sinks === undefined ? 0 : Math.exp(sink - largest);
        sum.fill(0);
        for (let i = 0; i < slots.length; i++) {
          const weight = Math.exp(scores[i]! - largest);
          total += weight;
          const at = slots[i]! * kvHeads * width + row + dK;
          for (let d = 0; d < dV; d++) sum[d]! += weight * kv[at + d]!;
        }
        const outAt = (t * heads + h) * dV;
        for (let d = 0; d < dV; d++) to[outAt + d] = slots.length === 0 ? 0 : sum[d]! / total;
      }
    }
  },
};

/**
 * ALiBi's slope of head `h` (Press et al., 2022, section 3), with `maxBias` 8 in the paper; the rule for head counts that are no
 * power of two is ggml's.
 */
export function alibiSlope(h: number, heads: number, maxBias: number): number {
  const power = 2 ** Math.floor(Math.log2(heads));
  return h < power ? 2 ** ((-maxBias / power) * (h + 1)) : 2 ** ((-maxBias / 2 / power) * (2 * (h - power) + 1));
}

/** The cache slots that a query sees, in order of position, and the position of the first. */
function visibleSlots(
  position: number,
  sequence: number,
  cache: HostTensor,
  blockTable: HostTensor,
  seqLens: HostTensor,
  { blockSize, causal, window }: AttentionParams,
): { readonly first: number; readonly slots: Int32Array } {
  const [size] = cache.spec.shape as readonly [number];
  const [sequences, maxBlocks] = blockTable.spec.shape as readonly [number, number];
  if (sequence < 0 || sequence >= sequences) throw new ArgumentError("attention", `seqOf from 0 to ${sequences - 1}`, String(sequence));
  const length = seqLens.data[sequence]!;
  if (length < 0 || length > maxBlocks * blockSize) {
    throw new ArgumentError("attention", `seqLens from 0 to ${maxBlocks * blockSize} (maxBlocks * blockSize)`, String(length));
  }
  const end = causal ? Math.min(length, position + 1) : length;
  const first = window > 0 ? Math.max(0, position - window + 1) : 0;
  const slots = new Int32Array(Math.max(0, end - first));
  for (let j = first; j < end; j++) {
    const block = blockTable.data[sequence * maxBlocks + Math.floor(j / blockSize)]!;
    const slot = block * blockSize + (j % blockSize);
    if (slot < 0 || slot >= size) {
      throw new ArgumentError("attention", `blocks of slots from 0 to ${size - 1}`, `block ${block} of ${blockSize} for position ${j}`);
    }
    slots[j - first] = slot;
  }
  return { first, slots };
}

function triple({ shape }: ConcreteSpec): readonly [number, number, number] {
  return [shape[0]!, shape[1]!, shape[2]!];
}
