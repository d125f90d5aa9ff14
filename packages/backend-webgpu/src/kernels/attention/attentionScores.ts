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

/** Below every score, but finite. */
export const unseen = "const unseen = -3e38;";

/** WGSL's `tanh` may give NaN for large arguments, and its error is only bounded absolutely. */
export const boundedTanh = `fn tanhOf(x: f32) -> f32 {
  let a = abs(x);
  if (a < 0.25) {
    let s = x * x;
    return x * (1.0 + s * (-0.333333333 + s * (0.133333333 + s * (-0.053968254 + s * 0.021869489))));
  }
  let t = exp(-2.0 * min(a, 50.0));
  return select(1.0, -1.0, x < 0.0) * ((1.0 - t) / (1.0 + t));
}`;

/** What ALiBi multiplies its factor by, from the distance of a key after its query: keys after their queries are only seen without `causal`. */
export function alibiDistance({ causal }: ParamsOf<"attention">, after: string): string {
  return causal ? after : `-abs(${after})`;
}

/** The factor of ALiBi for a head. */
export const slope = `fn slopeOf(h: u32) -> f32 {
            let power = 1u << firstLeadingBit(p.heads);
            if (h < power) { return exp2(-p.alibi / f32(power) * f32(h + 1u)); }
            return exp2(-p.alibi * 0.5 / f32(power) * f32(2u * (h - power) + 1u));
          }`;
