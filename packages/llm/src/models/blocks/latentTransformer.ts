import type { Value } from "@centella/core";
import type { MetadataReader } from "../../load/metadataReader.ts";
import type { AttendOptions, ModelDescription } from "../../model/modelBuilder.ts";
import { type ModelConfig, readConfig } from "../config.ts";
import { attentionTemperature, readAttentionTemperature } from "./attentionTemperature.ts";
import { embed, logits, outputNorm } from "./ends.ts";
import type { Indexer } from "./indexer.ts";
import { type LatentConfig, latentAttention, readLatent } from "./latentAttention.ts";
import { layersOf } from "./layer.ts";
import { type MixedFeedForward, openFeedForward } from "./openFeedForward.ts";
import { type RopeType, readRope } from "./rope.ts";

/** How a model with latent attention differs from DeepSeek V2 without experts. */
export interface LatentTraits extends MixedFeedForward {
  /** Default "norm". */
  readonly ropeType?: RopeType;
  /** Chooses the keys that queries see. */
  readonly indexer?: Indexer;
  /** Whether YaRN leaves the length of the rotated elements; see `RopeOptions`. Default true. */
  readonly keepsLength?: boolean;
  /** Factors, 1 by default: of the embeddings, of what each part adds to its input, and of the logits. */
  readonly embeddingScale?: number;
  readonly residualScale?: number;
  readonly logitScale?: number;
}

/** The model of a file with latent attention in every layer. */
export async function latentTransformer(file: MetadataReader, traits: LatentTraits): Promise<ModelDescription> {
  const { ropeType = "norm", keepsLength = true, embeddingScale, residualScale = 1, logitScale = 1 } = traits;
  const config = readConfig(file);
  const latent = readLatent(file);
  const { indexer } = traits;
  const rope = readRope(file, ropeType, { keyLength: latent.ropeLength, isLatent: true, keepsLength });
  const scale = rope.scoreFactor ** 2 / Math.sqrt(latent.keyLength);
  const temperatureConfig = readAttentionTemperature(file, file.tokens("attention.temperature_length"));
  const feedForward = await openFeedForward(file, traits);
  return {
    config: { ...withLatentCache(config, latent), ...(indexer && { indexer: indexer.shape }) },
    forward(m) {
      const { program } = m;
      const temperature = attentionTemperature(m, temperatureConfig);
      const chooser = indexer?.open(m, rope);
      let x = embed(m, embeddingScale);
      for (const layer of layersOf(m)) {
        const part = (y: Value): Value => m.scale(y, residualScale);
        const input = layer.norm("attn_norm", x);
        const chooseKeys = chooser && ((queries: Value): AttendOptions["tables"] => chooser(layer, input, queries));
        const attended = latentAttention(layer, input, latent, { rope, scale, temperature, ...(chooseKeys && { chooseKeys }) });
        const middle = program.add(layer.pick(x), part(attended));
        x = program.add(middle, part(feedForward(layer, layer.norm("ffn_norm", middle))));
      }
      return logits(m, outputNorm(m, x), { scale: logitScale });
    },
  };
}

/** The config with caches of latent vectors, if the attention is absorbed. */
export function withLatentCache(config: ModelConfig, { isAbsorbed }: LatentConfig): ModelConfig {
  return isAbsorbed ? { ...config, headsOf: (layer) => ({ ...config.headsOf(layer), kvHeads: 1 }) } : config;
}
