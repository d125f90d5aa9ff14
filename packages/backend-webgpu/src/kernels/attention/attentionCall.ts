import type { DimValues, ParamsOf } from "@centella/core";
import { input } from "../../wgsl/module.ts";
import type { Binding, ElementType, KernelCall, KernelOf } from "../shared/kernel.ts";
import { extent } from "../shared/shape.ts";

export type AttentionCall = KernelCall<Parameters<KernelOf<"attention">["dispatches"]>[0]["inputs"]>;

/** The bindings of what all kernels of attention read, given the element types of queries and of the cache. */
export function attentionBindings(query: ElementType, cache: ElementType): readonly Binding[] {
  const indices = ["positions", "seqOf", "blockTable", "seqLens"].map((name, i) => input(name, 2 + i, "i32"));
  return [input("q", 0, query), input("cache", 1, cache), ...indices];
}

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
