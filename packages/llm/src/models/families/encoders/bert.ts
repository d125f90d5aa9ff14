import type { Value } from "@centella/core";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { ModelBuilder, ModelDescription } from "../../../model/modelBuilder.ts";
import { type RopeConfig, readRope } from "../../blocks/attention/rope.ts";
import { classifierHeads } from "../../blocks/classifierHeads.ts";
import { embed, embeddingNorm, embedPositions, states } from "../../blocks/ends.ts";
import type { FeedForwardOptions } from "../../blocks/feedForward.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { type FeedForward, type MixedFeedForward, openFeedForward } from "../../blocks/openFeedForward.ts";
import { Section } from "../../blocks/section.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** BERT, which embeds texts. */
export const family: Family = (file) => bertModel(file, { feedForward: { kind: "plain", activation: "gelu" } });

interface BertTraits extends MixedFeedForward {
  /** Rotary positions instead of learned ones. */
  readonly ropeType?: "neox";
  /** Bias that grows with distance to both sides, of the first head; 0 is none. */
  readonly alibi?: number;
  /** The feed-forward part of a layer, if it is not that of all. */
  readonly feedForwardOf?: (layer: Layer) => FeedForwardOptions;
  readonly ignored?: readonly string[];
}

/** The model of a file of BERT's kind. */
export async function bertModel(file: MetadataReader, traits: BertTraits): Promise<ModelDescription> {
  const config = readConfig(file, { norm: "layer", isEncoder: true });
  const { ropeType, ignored = [] } = traits;
  const rope = ropeType && readRope(file, ropeType, config);
  const feedForward = await openFeedForward(file, traits);
  return {
    config,
    forward(m) {
      m.ignore(...classifierHeads, ...ignored);
      return forward(m, traits, rope, feedForward);
    },
  };
}

function forward(m: ModelBuilder, traits: BertTraits, rope: RopeConfig | undefined, feedForward: FeedForward): Value {
  const { program } = m;
  const { alibi = 0, feedForwardOf } = traits;
  const embedded = rope === undefined && alibi === 0 ? program.add(embed(m), embedPositions(m)) : embed(m);
  let x = embeddingNorm(m, program.add(embedded, firstTokenType(m)));
  for (const layer of layersOf(m)) {
    const heads = layer.rope(layer.qkv(x, { norm: "allIfPresent" }), rope);
    const attended = layer.norm("attn_output_norm", program.add(layer.pick(x), layer.attention(heads, { alibi })));
    const hasSecondNorm = layer.weights.has("attn_norm_2.weight");
    const middle = hasSecondNorm ? layer.norm("attn_norm_2", program.add(attended, layer.pick(x))) : attended;
    x = layer.norm("layer_output_norm", program.add(middle, feedForward(layer, middle, feedForwardOf?.(layer))));
  }
  return states(m, x);
}

/** The embedding `[1, d]` of the first token type, which all tokens of a text have; 0 if the file has no token types. */
function firstTokenType(m: ModelBuilder): Value {
  const { program, config } = m;
  const { weights } = new Section(m, "input");
  const [types] = weights.shape("token_types.weight") ?? [];
  if (types === undefined) return program.constant(new Float32Array(config.embeddingLength), "f32", [1, config.embeddingLength]);
  const table = weights.matrixRows("token_types.weight", config.embeddingLength, { rows: 1, of: types });
  return program.embedding(table, program.constant(new Int32Array(1), "i32", [1]));
}
