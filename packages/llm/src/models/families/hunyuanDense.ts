import type { MetadataReader } from "../../load/metadataReader.ts";
import type { ModelDescription } from "../../model/modelBuilder.ts";
import { type RopeType, readRope } from "../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../blocks/ends.ts";
import type { ExpertsOptions } from "../blocks/experts.ts";
import { layersOf } from "../blocks/layer.ts";
import { openFeedForward } from "../blocks/openFeedForward.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** Hunyuan, dense. */
export const family: Family = (file) => hunyuan(file, { ropeType: "neox" });

export interface HunyuanTraits {
  readonly ropeType: RopeType;
  readonly experts?: ExpertsOptions;
  /** Factor of the rope's base, by the elements of a key. Default 1. */
  readonly baseFactor?: (size: number) => number;
}

/** The model of a file in Hunyuan's form: queries and keys are normalised after they are rotated. */
export async function hunyuan(
  file: MetadataReader,
  { ropeType, baseFactor = () => 1, ...options }: HunyuanTraits,
): Promise<ModelDescription> {
  const config = readConfig(file);
  const plainRope = readRope(file, ropeType, config);
  const rope = { ...plainRope, base: plainRope.base * baseFactor(config.keyLength) };
  const feedForward = await openFeedForward(file, options);
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const { q, k, v } = layer.rope(layer.qkv(layer.norm("attn_norm", layer.enter(x))), rope);
        const attended = layer.attention({ q: layer.norm("attn_q_norm", q), k: layer.norm("attn_k_norm", k), v });
        const middle = program.add(layer.pick(x), attended);
        x = program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
}
