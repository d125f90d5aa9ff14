import type { DimValues, ParamsOf } from "@centella/core";
import type { KernelCall, KernelOf } from "../shared/kernel.ts";
import { extent } from "../shared/shape.ts";

export type AttentionCall = KernelCall<Parameters<KernelOf<"attention">["dispatches"]>[0]["inputs"]>;

/** Uniforms of kernels whose workgroups have several tokens. */
export const tokenUniforms = {
  size: "i32",
  sequences: "i32",
  maxBlocks: "i32",
  blockSize: "i32",
  window: "i32",
  tokens: "u32",
  heads: "u32",
  perKvHead: "u32",
  kvHeads: "u32",
  scale: "f32",
  softcap: "f32",
  alibi: "f32",
} as const;

/** Values of {@link tokenUniforms} in a run. */
export function tokenValues(
  { inputs: [q, cache, , , blockTable] }: AttentionCall,
  { blockSize, window, scale, softcap, alibi }: ParamsOf<"attention">,
  dims: DimValues,
): Readonly<Record<keyof typeof tokenUniforms, number>> {
  const [tokens, heads] = [extent(q.shape, 0, dims), extent(q.shape, 1, dims)];
  const [size, kvHeads] = [extent(cache.shape, 0, dims), extent(cache.shape, 1, dims)];
  const [sequences, maxBlocks] = [extent(blockTable.shape, 0, dims), extent(blockTable.shape, 1, dims)];
  return { tokens, heads, kvHeads, perKvHead: heads / kvHeads, size, sequences, maxBlocks, blockSize, window, scale, softcap, alibi };
}
