import type { Value } from "@centella/core";
import type { MetadataReader } from "../../load/metadataReader.ts";
import type { AttendOptions, ModelBuilder, ModelDescription } from "../../model/modelBuilder.ts";
import { type ModelConfig, readConfig } from "../config.ts";
import { attentionTemperature, readAttentionTemperature } from "./attention/attentionTemperature.ts";
import type { ChooseKeys, Indexer } from "./attention/indexer.ts";
import { type LatentConfig, latentAttention, readLatent } from "./attention/latentAttention.ts";
import { type RopeType, readRope } from "./attention/rope.ts";
import { embed, logits, outputNorm } from "./ends.ts";
import { type Layer, layersOf } from "./layer.ts";
import { nextnOf } from "./nextnOf.ts";
import { type MixedFeedForward, openFeedForward } from "./openFeedForward.ts";

/** How a model with latent attention differs from DeepSeek V2 without experts. */
export interface LatentTraits extends MixedFeedForward {
  /** Default "norm". */
  readonly ropeType?: RopeType;
  /** Chooses the keys that queries see. */
  readonly indexer?: Indexer;
  /** Whether YaRN leaves the length of the rotated elements; see `RopeOptions`. Default true. */
  readonly keepsLength?: boolean;
  /** Whether the first block after the layers is like these, and predicts further tokens. */
  readonly hasNextn?: boolean;
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
  const cached = withLatentCache(config, latent);
  /** `x [T, d] -> [n, d]`, the rows that `Layer.pick` leaves. */
  const decoderLayer = (m: ModelBuilder, chooser?: ChooseKeys): ((layer: Layer, x: Value) => Value) => {
    const { program } = m;
    const temperature = attentionTemperature(m, temperatureConfig);
    return (layer, x) => {
      const part = (y: Value): Value => m.scale(y, residualScale);
      const input = layer.norm("attn_norm", x);
      const chooseKeys = chooser && ((queries: Value): AttendOptions["tables"] => chooser(layer, input, queries));
      const attended = latentAttention(layer, input, latent, { rope, scale, temperature, ...(chooseKeys && { chooseKeys }) });
      const middle = program.add(layer.pick(x), part(attended));
      return program.add(middle, part(feedForward(layer, layer.norm("ffn_norm", middle))));
    };
  };
  return {
    config: { ...cached, ...(indexer && { extraCache: indexer.extraCache }) },
    forward(m) {
      const layerOf = decoderLayer(m, indexer?.open(m, rope));
      let x = embed(m, embeddingScale);
      for (const layer of layersOf(m)) x = layerOf(layer, x);
      return logits(m, outputNorm(m, x), { scale: logitScale });
    },
    // The block attends to all keys, where an indexer would choose them as well.
    ...(traits.hasNextn === true && nextnOf(cached, (layer, x) => decoderLayer(layer.model)(layer, x))),
  };
}

/** The config with caches of latent vectors, if the attention is absorbed. */
export function withLatentCache(config: ModelConfig, { isAbsorbed }: LatentConfig): ModelConfig {
  return isAbsorbed ? { ...config, headsOf: (layer) => ({ ...config.headsOf(layer), kvHeads: 1 }) } : config;
}
