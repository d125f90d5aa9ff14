import { open, rename, rm } from "node:fs/promises";
import { blockLayout, tensorBytes } from "@centella/quant";
import { elementAt, named } from "@centella/quant/checks";
import { seedOf, uniform } from "../stats/random.ts";
import { randomBlocks } from "./blocks.ts";
import { type GgufValue, ggufHeader, padding } from "./ggufWriter.ts";
import { type ModelShape, shapes } from "./shapes.ts";
import { type FileType, fileTypes, type TensorPlan, tensorPlans } from "./tensors.ts";
import { chatTemplate, makeVocabulary } from "./vocabulary.ts";

export interface GenerateModelOptions {
  /** A key of `shapes`. */
  readonly shape: string;
  readonly type: FileType;
  readonly out: string;
  readonly seed: number;
  /** Fewer layers than the shape has, for tests. */
  readonly layers?: number;
  readonly onProgress?: (bytes: number, total: number) => void;
}

/** Number of elements that are generated and written at a time; a multiple of every block. */
const chunkElements = 2 ** 22;

/**
 * Writes a GGUF file with random weights, of about the scale at which a transformer's activations stay near 1, and returns
 * its size. Data is streamed, so memory stays small for any model. The file appears when it is complete.
 */
export async function generateModel({ shape: name, type, out, seed, layers, onProgress }: GenerateModelOptions): Promise<number> {
  const full = named(shapes, name);
  const shape = layers === undefined ? full : { ...full, layers };
  const plans = tensorPlans(shape, type);
  const { header, total } = modelHeader(name, shape, type);
  const partial = `${out}.part`;
  const file = await open(partial, "w");
  try {
    let written = 0;
    const write = async (bytes: Uint8Array): Promise<void> => {
      await file.write(bytes);
      written += bytes.length;
      onProgress?.(written, total);
    };
    await write(header);
    for (const plan of plans) {
      for (const chunk of dataOf(plan, shape, seed)) await write(chunk);
      await write(new Uint8Array(padding(sizeOf(plan))));
    }
    await file.close();
    await rename(partial, out);
    return total;
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(partial, { force: true });
    throw error;
  }
}

/** Everything of a model's file before the tensors' data, and the size of the whole file. */
export function modelHeader(name: string, shape: ModelShape, type: FileType): { readonly header: Uint8Array; readonly total: number } {
  const plans = tensorPlans(shape, type);
  const header = ggufHeader(metadataOf(name, shape, type), plans);
  return { header, total: plans.reduce((sum, plan) => sum + sizeOf(plan) + padding(sizeOf(plan)), header.length) };
}

function sizeOf({ type, shape }: TensorPlan): number {
  return tensorBytes(type, shape);
}

function* dataOf({ name, type, shape, scale }: TensorPlan, model: ModelShape, seed: number): Generator<Uint8Array> {
  const own = seedOf(`${seed}/${name}`);
  if (type === "f32") {
    yield new Uint8Array(vectorOf(name, elementAt(shape, 0), model, own).buffer);
    return;
  }
  const elements = shape.reduce((a, b) => a * b, 1);
  const step = Math.floor(chunkElements / blockLayout(type).blockElements) * blockLayout(type).blockElements;
  for (let at = 0; at < elements; at += step) yield randomBlocks(type, Math.min(step, elements - at), own + at, scale);
}

/** Norms are around 1, biases around 0; RoPE factors follow the shape's scaling. */
export function vectorOf(name: string, length: number, model: ModelShape, seed: number): Float32Array<ArrayBuffer> {
  if (name === "rope_freqs.weight") return ropeFactors(model);
  const values = uniform(seed, length);
  return name.endsWith(".bias") ? values.map((value) => 0.1 * value) : values.map((value) => 1 + 0.2 * value);
}

/**
 * Llama 3's frequency factors: long wavelengths are divided by `factor`, short ones stay unchanged, and medium ones are blended.
 * Source: `Llama3RotaryEmbedding` of the transformers library.
 */
function ropeFactors({ headSize, ropeBase, ropeScaling }: ModelShape): Float32Array<ArrayBuffer> {
  const { factor, low, high, original } = ropeScaling!;
  return Float32Array.from({ length: headSize / 2 }, (_, i) => {
    const wavelength = 2 * Math.PI * ropeBase ** ((2 * i) / headSize);
    if (wavelength < original / high) return 1;
    if (wavelength > original / low) return factor;
    const smooth = (original / wavelength - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  });
}

function metadataOf(name: string, shape: ModelShape, type: FileType): Readonly<Record<string, GgufValue>> {
  const { architecture } = shape;
  const { tokens, types, merges, bos, eos } = makeVocabulary(shape.vocabulary);
  return {
    "general.architecture": { string: architecture },
    "general.name": { string: `${name} with random weights` },
    "general.file_type": { u32: fileTypes[type] },
    "general.quantization_version": { u32: 2 },
    [`${architecture}.block_count`]: { u32: shape.layers },
    [`${architecture}.context_length`]: { u32: shape.context },
    [`${architecture}.embedding_length`]: { u32: shape.embedding },
    [`${architecture}.feed_forward_length`]: { u32: shape.feedForward },
    [`${architecture}.attention.head_count`]: { u32: shape.heads },
    [`${architecture}.attention.head_count_kv`]: { u32: shape.kvHeads },
    [`${architecture}.attention.layer_norm_rms_epsilon`]: { f32: shape.epsilon },
    [`${architecture}.rope.freq_base`]: { f32: shape.ropeBase },
    [`${architecture}.rope.dimension_count`]: { u32: shape.headSize },
    [`${architecture}.vocab_size`]: { u32: shape.vocabulary },
    "tokenizer.ggml.model": { string: "gpt2" },
    "tokenizer.ggml.pre": { string: shape.preTokenizer },
    "tokenizer.ggml.tokens": { strings: tokens },
    "tokenizer.ggml.token_type": { i32s: types },
    "tokenizer.ggml.merges": { strings: merges },
    "tokenizer.ggml.bos_token_id": { u32: bos },
    "tokenizer.ggml.eos_token_id": { u32: eos },
    "tokenizer.ggml.padding_token_id": { u32: bos },
    "tokenizer.ggml.add_bos_token": { bool: false },
    "tokenizer.chat_template": { string: chatTemplate },
  };
}
