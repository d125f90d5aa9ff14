import type { Value } from "@centella/core";
import type { MetadataReader } from "../load/metadataReader.ts";
import type { DiffusionShape } from "../load/modelShape.ts";
import type { AttendOptions, ModelBuilder, ModelDescription } from "../model/modelBuilder.ts";
import { type RopeConfig, type RopeType, readRope } from "./blocks/attention/rope.ts";
import { readWindow, type WindowOptions } from "./blocks/attention/window.ts";
import { embed, logits, outputNorm, states } from "./blocks/ends.ts";
import { type HeadsOptions, type Layer, layersOf } from "./blocks/layer.ts";
import { nextnOf } from "./blocks/nextnOf.ts";
import { type FeedForward, type MixedFeedForward, openFeedForward } from "./blocks/openFeedForward.ts";
import { readConfig } from "./config.ts";

/**
 * How a model differs from Llama, which has root-mean-square norms before both parts of a layer, sequential residuals, grouped queries
 * without norms, and a gated SiLU feed-forward part.
 */
export interface TransformerTraits extends MixedFeedForward {
  readonly norm?: "layer" | undefined;
  /** Width of the feed-forward layers, if it is not what the file says. */
  readonly feedForwardLength?: number;
  /** Rotary positions; without a type nothing is rotated. */
  readonly ropeType?: RopeType | undefined;
  /** Sliding windows of some layers, where the file has any. */
  readonly window?: WindowOptions;
  /** Rope of layers with a window, from that of the model. By default they are equal. */
  readonly localRope?: (rope: RopeConfig) => RopeConfig;
  /** Whether only layers with a window rotate. */
  readonly rotatesInWindows?: boolean;
  /** Whether both parts of a layer read its input; without a norm of its own the feed-forward part shares the attention's. */
  readonly isParallel?: boolean;
  readonly queryKeyNorm?: HeadsOptions["norm"];
  readonly attention?: AttendOptions;
  /** Whether the heads' outputs are multiplied by the sigmoid of a gate, for each element or for each head. */
  readonly attentionGate?: "element" | "head";
  /** Whether both parts of a layer end in a norm, before they are added to the layer's input. */
  readonly hasPostNorms?: boolean;
  /** Name of the norm before the feed-forward part. Default "ffn_norm". */
  readonly feedForwardNorm?: "post_attention_norm";
  /** Factors, 1 by default: of the embeddings, of what each part adds to its input, and of the logits. */
  readonly embeddingScale?: number;
  readonly residualScale?: number;
  readonly logitScale?: number;
  /** Whether tokens see those after them: the model embeds texts. */
  readonly isEncoder?: boolean;
  /** How the model fills in masked tokens, if it does. */
  readonly diffusion?: DiffusionShape;
  /** Name of the norm after the last layer. Default "output_norm". */
  readonly outputNorm?: string;
  /** Whether the first block after the layers is like these, and predicts further tokens. */
  readonly hasNextn?: boolean;
  /** Tensors that a file may have and that take no part in the logits; `*` stands for every layer. */
  readonly ignored?: readonly string[];
}

/** The model of a file whose family is a variant of Llama. */
export async function transformer(file: MetadataReader, traits: TransformerTraits): Promise<ModelDescription> {
  const config = readConfig(file, traits);
  const rope = traits.ropeType && readRope(file, traits.ropeType, config);
  const windows = traits.window && readWindow(file, traits.window);
  const attend = attention(traits, rope, (layer) => windows?.at(layer) ?? 0);
  const feedForward = await openFeedForward(file, traits);
  const layerOf = (m: ModelBuilder) => decoderLayer(m, traits, attend, feedForward);
  return {
    config,
    forward: (m) => forward(m, traits, layerOf(m)),
    ...(traits.hasNextn === true && nextnOf(config, (layer, x) => layerOf(layer.model)(layer, x))),
  };
}

/** A layer's attention: `[T, d] -> [n, d]`. */
type Attention = (layer: Layer, input: Value) => Value;

function attention(traits: TransformerTraits, rope: RopeConfig | undefined, windowOf: (layer: number) => number): Attention {
  const { queryKeyNorm: norm, rotatesInWindows = false, attentionGate } = traits;
  const localRope = rope && (traits.localRope?.(rope) ?? rope);
  return (layer, input) => {
    const window = windowOf(layer.index);
    const globalRope = rotatesInWindows ? undefined : rope;
    const heads = layer.rope(layer.qkv(input, { norm }), window > 0 ? localRope : globalRope);
    return layer.attention(heads, {
      ...traits.attention,
      window,
      ...(attentionGate && { gate: layer.attentionGate(input, attentionGate) }),
    });
  };
}

/** T tokens, d embedding, V vocabulary: `tokens [T] -> logits [nOut, V]`, or the states `[nOut, d]` before the output layer. */
function forward(m: ModelBuilder, traits: TransformerTraits, layerOf: DecoderLayer): Value {
  m.ignore(...(traits.ignored ?? []));
  let x = embed(m, traits.embeddingScale);
  for (const layer of layersOf(m)) x = layerOf(layer, layer.enter(x));
  const y = outputNorm(m, x, traits.outputNorm);
  return traits.isEncoder === true ? states(m, y) : logits(m, y, { scale: traits.logitScale ?? 1 });
}

/** `x [T, d] -> [n, d]`, the rows that {@link Layer.pick} leaves. */
type DecoderLayer = (layer: Layer, x: Value) => Value;

function decoderLayer(m: ModelBuilder, traits: TransformerTraits, attend: Attention, feedForward: FeedForward): DecoderLayer {
  const { program } = m;
  const { isParallel = false, hasPostNorms = false, residualScale = 1, feedForwardNorm = "ffn_norm" } = traits;
  return (layer, x) => {
    const part = (name: string, y: Value): Value => m.scale(hasPostNorms ? layer.norm(name, y) : y, residualScale);
    const input = layer.norm("attn_norm", x);
    const attended = part("post_attention_norm", attend(layer, input));
    const rest = layer.pick(x);
    if (isParallel) {
      const hasNorm = layer.weights.has(`${feedForwardNorm}.weight`);
      const fed = feedForward(layer, hasNorm ? layer.norm(feedForwardNorm, rest) : layer.pick(input));
      return program.add(program.add(rest, attended), part("post_ffw_norm", fed));
    }
    const middle = program.add(rest, attended);
    return program.add(middle, part("post_ffw_norm", feedForward(layer, layer.norm(feedForwardNorm, middle))));
  };
}
