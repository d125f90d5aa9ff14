import type { Value } from "@centella/core";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { ModelBuilder, ModelDescription } from "../../../model/modelBuilder.ts";
import { classifierHeads } from "../../blocks/classifierHeads.ts";
import { embed, embeddingNorm, embedPositions, states } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { type FeedForward, type MixedFeedForward, openFeedForward } from "../../blocks/openFeedForward.ts";
import { type RopeConfig, readRope } from "../../blocks/rope.ts";
import { Section } from "../../blocks/section.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** BERT, which embeds texts. */
export const family: Family = (file) => bertModel(file, { feedForward: { kind: "plain", activation: "gelu" } });

interface BertTraits extends MixedFeedForward {
  /** Rotary positions instead of learned ones. */
  readonly ropeType?: "neox";
  readonly ignored?: readonly string[];
}

/** The model of a file of BERT's kind. */
export async function bertModel(file: MetadataReader, { ropeType, ignored = [], ...traits }: BertTraits): Promise<ModelDescription> {
  const config = readConfig(file, { norm: "layer", isEncoder: true });
  const rope = ropeType && readRope(file, ropeType, config);
  const feedForward = await openFeedForward(file, traits);
  return {
    config,
    forward(m) {
      m.ignore(...classifierHeads, ...ignored);
      return forward(m, rope, feedForward);
    },
  };
}

function forward(m: ModelBuilder, rope: RopeConfig | undefined, feedForward: FeedForward): Value {
  const { program } = m;
  const embedded = rope === undefined ? program.add(embed(m), embedPositions(m)) : embed(m);
  let x = embeddingNorm(m, program.add(embedded, firstTokenType(m)));
  for (const layer of layersOf(m)) {
    const heads = layer.rope(layer.qkv(x, { norm: "allIfPresent" }), rope);
    const middle = layer.norm("attn_output_norm", program.add(layer.pick(x), layer.attention(heads)));
    x = layer.norm("layer_output_norm", program.add(middle, feedForward(layer, middle)));
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
