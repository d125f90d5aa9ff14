import { ArgumentError } from "../errors.ts";
import type { HostTensor } from "../program/op.ts";
import type { Reference } from "../reference/referenceType.ts";
import { type AttentionParams, alibiSlope } from "./attention.ts";

type Triple = readonly [number, number, number];

export const attention: Reference<"attention"> = ([q, cache, positions, seqOf, blockTable, seqLens, sinks, bias], params, y) => {
  const { scale, softcap, alibi } = params;
  const [tokens, heads, dK] = q.spec.shape as Triple;
  const [, kvHeads, width] = cache.spec.shape as Triple;
  const dV = width - dK;
  const slopes = Array.from({ length: heads }, (_, h) => alibiSlope(h, heads, alibi));
  const [queries, kv, to] = [q.data, cache.data, y.data];
  const sum = new Float64Array(dV);
  const reach = bias === undefined ? 0 : (bias.spec.shape[1]! - 1) / 2;
  for (let t = 0; t < tokens; t++) {
    const position = positions.data[t]!;
    const { first, slots } = visibleSlots(position, seqOf.data[t]!, cache, blockTable, seqLens, params);
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
        if (alibi > 0) score -= slopes[h]! * Math.abs(first + i - position);
        if (bias !== undefined) {
          const distance = Math.max(-reach, Math.min(reach, first + i - position));
          score += bias.data[h * (2 * reach + 1) + reach + distance]!;
        }
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
};

/** Cache slots that a query sees, in order of position, and the position of the first one. */
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
  if (sequence < 0 || sequence >= sequences)
    throw new ArgumentError("attention", `seqOf from 0 to ${sequences - 1}`, String(sequence), "give each token a row of the block table");
  const length = seqLens.data[sequence]!;
  if (length < 0 || length > maxBlocks * blockSize) {
    throw new ArgumentError(
      "attention",
      `seqLens from 0 to ${maxBlocks * blockSize} (maxBlocks * blockSize)`,
      String(length),
      "give the block table more columns",
    );
  }
  const end = causal ? Math.min(length, position + 1) : length;
  const first = window > 0 ? Math.max(0, position - window + 1) : 0;
  const slots = new Int32Array(Math.max(0, end - first));
  for (let j = first; j < end; j++) {
    const block = blockTable.data[sequence * maxBlocks + Math.floor(j / blockSize)]!;
    const slot = block * blockSize + (j % blockSize);
    if (slot < 0 || slot >= size) {
      throw new ArgumentError(
        "attention",
        `blocks of slots from 0 to ${size - 1}`,
        `block ${block} of ${blockSize} for position ${j}`,
        "give the cache more slots",
      );
    }
    slots[j - first] = slot;
  }
  return { first, slots };
}
