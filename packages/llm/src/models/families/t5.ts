import type { SymbolicDim, Value } from "@centella/core";
import { ModelError } from "../../errors.ts";
import type { MetadataReader } from "../../load/metadataReader.ts";
import type { KeyTable, ModelBuilder } from "../../model/modelBuilder.ts";
import {
  attentionOutput,
  type DistanceBuckets,
  encode,
  layersOf,
  readBuckets,
  selfAttention,
  withFeedForward,
} from "../blocks/attention/t5.ts";
import { embed, logits, outputNorm } from "../blocks/ends.ts";
import type { Layer } from "../blocks/layer.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** T5, Flan-T5 and mT5: an encoder reads the prompt, and a decoder, which generates the text, attends to the encoder's states. */
export const family: Family = (file) => {
  const buckets = readBuckets(file);
  const config = readConfig(file);
  const [encoderLayers, decoderLayers] = [config.layers, file.size("decoder_block_count") ?? config.layers];
  return {
    config: { ...config, layers: Math.max(encoderLayers, decoderLayers), decoderStart: readStart(file, config.vocabSize) },
    forward: (m) => (m.result === "states" ? encode(m, buckets, encoderLayers) : decode(m, buckets, decoderLayers)),
  };
};

/** The token that texts begin with: often 0, which in other keys means "not set". @throws {ModelError} for one outside of the vocabulary */
function readStart(file: MetadataReader, vocabSize: number): number {
  const { metadata } = file;
  const start = metadata.optionalNumber(file.key("decoder_start_token_id")) ?? metadata.optionalNumber("tokenizer.ggml.bos_token_id") ?? 0;
  if (Number.isInteger(start) && start >= 0 && start < vocabSize) return start;
  throw new ModelError(
    `metadata: expected ${file.key("decoder_start_token_id")} from 0 to ${vocabSize - 1}, got ${start}; convert the model again`,
  );
}

/** The decoder: `tokens [T] -> logits [nOut, V]`. */
function decode(m: ModelBuilder, buckets: DistanceBuckets, layers: number): Value {
  const { program } = m;
  // The program of the encoder shares these.
  m.weights.declareAll("enc.");
  const prompts = encodedPrompts(m);
  let x = embed(m);
  for (const { layer, bias } of layersOf(m, "dec", layers, buckets)) {
    layer.weights.ignore("cross_attn_rel_b.weight");
    const middle = program.add(x, selfAttention(layer, layer.norm("attn_norm", x), { causal: true, bias }));
    const attended = program.add(middle, crossAttention(layer, layer.norm("cross_attn_norm", middle), prompts));
    x = withFeedForward(layer, attended);
  }
  return logits(m, outputNorm(m, program.embedding(x, m.outRows), "dec.output_norm"));
}

/** The states of the prompts of the run's sequences, and where each sequence's are; see `encodedInputs`. */
interface EncodedPrompts extends Pick<KeyTable, "blocks" | "lengths"> {
  /** `[nEncoded, d]` */
  readonly states: Value;
}

function encodedPrompts({ program, texts, contextLength, config }: ModelBuilder): EncodedPrompts {
  const [sequences] = texts.lengths.spec.shape as readonly [SymbolicDim];
  return {
    states: program.input("encoded", "f32", [program.dim("nEncoded", sequences.max * contextLength), config.embeddingLength]),
    blocks: program.input("encodedRows", "i32", [sequences, contextLength]),
    lengths: program.input("encodedLengths", "i32", [sequences]),
  };
}

/** Attention to all states of the prompt: `[T, d] -> [T, d]`. As in llama.cpp, keys and values are computed in every run. */
function crossAttention(layer: Layer, x: Value, { states, blocks, lengths }: EncodedPrompts): Value {
  const { program, config, texts, activations } = layer.model;
  const { heads, kvHeads, keyLength, valueLength } = config.headsOf(layer.index);
  const project = (name: string, from: Value, count: number, size: number): Value => {
    const [rows = 0] = from.spec.shape;
    return program.reshape(layer.linear(name, from, { rows: count * size }), { shape: [rows, count, size] });
  };
  const q = project("cross_attn_q", x, heads, keyLength);
  const keys = [project("cross_attn_k", states, kvHeads, keyLength), project("cross_attn_v", states, kvHeads, valueLength)];
  const y = program.attention(q, program.concat(keys, { axis: 2 }), texts.positions, texts.rows, blocks, lengths, {
    scale: 1,
    blockSize: 1,
    causal: false,
    activations: activations === "half" ? "half" : "f32",
  });
  return attentionOutput(layer, "cross_attn_o", y);
}
