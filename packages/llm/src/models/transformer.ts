import type { Value } from "@centella/core";
import type { MetadataReader } from "../load/metadataReader.ts";
import type { AttendOptions, ModelBuilder, ModelDescription } from "../model/modelBuilder.ts";
import { embed, logits, outputNorm } from "./blocks/ends.ts";
import { type HeadsOptions, layersOf } from "./blocks/layer.ts";
import { type FeedForward, type MixedFeedForward, openFeedForward } from "./blocks/openFeedForward.ts";
import { type RopeConfig, type RopeType, readRope } from "./blocks/rope.ts";
import { readConfig } from "./config.ts";

/**
 * How a model differs from Llama, which has root-mean-square norms before both parts of a layer, sequential residuals, grouped queries
 * without norms, and a gated SiLU feed-forward part.
 */
export interface TransformerTraits extends MixedFeedForward {
  readonly norm?: "layer" | undefined;
  /** Rotary positions; without a type nothing is rotated. */
  readonly ropeType?: RopeType | undefined;
  /** Whether both parts of a layer read its input; without a norm of its own the feed-forward part shares the attention's. */
  readonly isParallel?: boolean;
  readonly queryKeyNorm?: HeadsOptions["norm"];
  readonly attention?: AttendOptions;
  /** Name of the norm before the feed-forward part. Default "ffn_norm". */
  readonly feedForwardNorm?: "post_attention_norm";
  /** Factors, 1 by default: of the embeddings, of what each part adds to its input, and of the logits. */
  readonly embeddingScale?: number;
  readonly residualScale?: number;
  readonly logitScale?: number;
  /** Tensors that a file may have and that take no part in the logits; `*` stands for every layer. */
  readonly ignored?: readonly string[];
}

/** The model of a file whose family is a variant of Llama. */
export async function transformer(file: MetadataReader, traits: TransformerTraits): Promise<ModelDescription> {
  const config = readConfig(file, { norm: traits.norm });
  const rope = traits.ropeType && readRope(file, traits.ropeType, config);
  const feedForward = await openFeedForward(file, traits);
  return { config, forward: (m) => forward(m, traits, rope, feedForward) };
}

/** T tokens, d embedding, V vocabulary: `tokens [T] -> logits [nOut, V]`, or the states `[nOut, d]` before the output layer. */
function forward(m: ModelBuilder, traits: TransformerTraits, rope: RopeConfig | undefined, feedForward: FeedForward): Value {
  const { program } = m;
  const { isParallel = false, queryKeyNorm: norm, residualScale = 1, feedForwardNorm = "ffn_norm", ignored = [] } = traits;
  m.ignore(...ignored);
  let x = embed(m, traits.embeddingScale);
  for (const layer of layersOf(m)) {
    const input = layer.norm("attn_norm", x);
    const heads = layer.rope(layer.qkv(input, { norm }), rope);
    const attended = m.scale(layer.attention(heads, traits.attention), residualScale);
    const rest = layer.pick(x);
    if (isParallel) {
      const hasNorm = layer.weights.has(`${feedForwardNorm}.weight`);
      const fed = feedForward(layer, hasNorm ? layer.norm(feedForwardNorm, rest) : layer.pick(input));
      x = program.add(program.add(rest, attended), m.scale(fed, residualScale));
    } else {
      const middle = program.add(rest, attended);
      x = program.add(middle, m.scale(feedForward(layer, layer.norm(feedForwardNorm, middle)), residualScale));
    }
  }
  return logits(m, outputNorm(m, x), { scale: traits.logitScale ?? 1 });
}
