import { UnsupportedError, type Value } from "@centella/core";
import type { GgufFile } from "@centella/gguf";
import { shown } from "@centella/quant/checks";
import { ModelError } from "../../errors.ts";
import type { WeightTable } from "../../load/weights.ts";
import type { DraftBlock, ModelBuilder } from "../../model/modelBuilder.ts";
import { applyRope, ignoreRopeFactors, type RopeConfig, readRope } from "../blocks/attention/rope.ts";
import { readWindow, type SlidingWindow } from "../blocks/attention/window.ts";
import { outputLayer } from "../blocks/ends.ts";
import { Layer } from "../blocks/layer.ts";
import { ones, Section } from "../blocks/section.ts";
import { type ModelConfig, readConfig } from "../config.ts";
import {
  afterTarget,
  countKnown,
  type HeadFamily,
  type HeadFile,
  headEmbeddings,
  headPrefix,
  readKnownTokens,
  readTargetLayers,
  requireOfTarget,
  requireSameSize,
  spreadLogits,
  type Target,
  targetSection,
} from "./head.ts";
import { chainedLogits } from "./markovChain.ts";

/**
 * DFlash (Chen et al., 2026): layers that fill in a block of masked tokens after the newest one, all at once. They see the text by keys and
 * values that the model writes, which are made of the inputs of some of its layers. In files of DSpark, a Markov chain links the tokens.
 */
export const head: HeadFamily = async (own, target) => {
  requireComputed(own);
  const block = readBlock(own, target);
  const traits = readTraits(own, target, block);
  const layers = readTargetLayers(own, target);
  const known = await readKnownTokens(own, traits.config.vocabSize);
  return {
    config: traits.config,
    block,
    keeps: { width: 0, joined: { layers, cached: traits.config, keep: (m, inputs) => writeText(m, traits, own.file, inputs) } },
    forward(m) {
      const x = blockStates(m, traits, headEmbeddings(m, target));
      m.ignore("fc.weight", "fc.scale", "enc.output_norm.weight", "d2t", "conf_proj.weight", "conf_proj.bias");
      const output = new Section(m, "output");
      const hasOwn = m.weights.has("output.weight") || m.weights.has("token_embd.weight");
      const matrix = hasOwn ? output : targetSection(m, target, "output");
      const logits = outputLayer(matrix, output.norm("output_norm", x), known && countKnown(known));
      return spreadLogits(m, known, isChained(own.file) ? chainedLogits(m, logits, block.firstRow, known) : logits);
    },
  };
};

interface Traits {
  /** Of the layers, which come after those of the model. */
  readonly config: ModelConfig;
  /** Number of the first layer. */
  readonly first: number;
  readonly rope: RopeConfig;
  readonly windows: SlidingWindow;
  readonly activation: "silu" | "gelu";
  readonly scale: number;
  readonly embeddingScale: number;
}

function readTraits(own: HeadFile, target: Target, { maskId }: DraftBlock): Traits {
  const { reader } = own;
  const isCausal = reader.bool("attention.causal") ?? false;
  const config = readConfig(reader, { diffusion: isCausal ? undefined : { maskId, shiftsLogits: false } });
  requireSameSize(config, target);
  requireOfTarget(reader, "embedding_length", target.config.embeddingLength, config.embeddingLength);
  // Drafts for models with sections of positions use those of the first section alone, without stored factors.
  const hasStoredFactors = reader.sizes("rope.dimension_sections")(0) === undefined;
  return {
    config: afterTarget(config, target),
    first: target.config.layers,
    rope: { ...readRope(reader, "neox", config), hasStoredFactors },
    windows: readWindow(reader, { period: 0 }),
    activation: readActivation(own),
    scale: reader.positive("attention.scale") ?? 1 / Math.sqrt(config.keyLength),
    embeddingScale: reader.positive("embedding_scale") ?? 1,
  };
}

/** Records in the model's program that the keys and values of its text are written, by the inputs `[T, d]` of its layers. */
function writeText(m: ModelBuilder, traits: Traits, file: GgufFile, inputs: readonly Value[]): void {
  const { first, config } = traits;
  const table = m.weightsOf(file, headPrefix);
  const { embeddingLength, epsilon: eps } = config;
  const input = new Section(m, first, "", table);
  const fused = input.linear("fc", m.program.concat(inputs, { axis: -1 }), { rows: embeddingLength });
  const x = m.program.rmsNorm(fused, input.weights.vector("enc.output_norm.weight", embeddingLength), { eps });
  for (let index = first; index < config.layers; index++) {
    const section = new Section(m, index, `blk.${index - first}.`, table);
    m.writeCache(index, ...keysAndValues(section, traits, table, x));
  }
}

/** Records the states `[n, d]` of a block's tokens, by their embeddings `[T, d]`. */
function blockStates(m: ModelBuilder, traits: Traits, embeddings: Value): Value {
  const { program } = m;
  const { config, first, rope, windows, activation, scale } = traits;
  let x = m.scale(embeddings, traits.embeddingScale);
  for (let index = first; index < config.layers; index++) {
    const layer = new Layer(m, index, `blk.${index - first}`);
    const input = layer.norm("attn_norm", x);
    const [k, v] = keysAndValues(layer, traits, m.weights, input);
    const q = applyRope(m, rope, layer.norm("attn_q_norm", projected(layer, traits, "attn_q", input, config.heads)));
    const sinks = layer.weights.optionalVector("attn_sinks.weight", config.heads);
    const attended = layer.attention({ q, k, v }, { scale, window: windows.at(index - first), ...(sinks && { sinks }) });
    const middle = program.add(layer.pick(x), normedIfPresent(layer, "post_attention_norm", attended));
    const fed = layer.feedForward(layer.norm("ffn_norm", middle), { activation, scales: true });
    const sum = program.add(middle, normedIfPresent(layer, "post_ffw_norm", fed));
    const factor = layer.weights.optionalVector("layer_output_scale.weight", 1);
    x = factor === undefined ? sum : program.mul(sum, factor);
  }
  ignoreRopeFactors(m);
  return x;
}

/** Keys and values `[T, Hkv, dK]` of `x [T, d]`, in the program of the head or in that of the model, whose config is another one. */
function keysAndValues(section: Section, traits: Traits, table: WeightTable, x: Value): readonly [k: Value, v: Value] {
  const { model, weights } = section;
  const { program } = model;
  const { kvHeads, keyLength, epsilon: eps } = traits.config;
  const k = projected(section, traits, "attn_k", x, kvHeads);
  const v = weights.has("attn_v.weight")
    ? projected(section, traits, "attn_v", x, kvHeads)
    : program.rmsNorm(k, ones(program, keyLength), { eps });
  const normed = program.rmsNorm(k, weights.vector("attn_k_norm.weight", keyLength), { eps });
  return [applyRope(model, traits.rope, normed, model.positions, table), v];
}

/** `x [T, d] -> [T, heads, dK]` */
function projected(section: Section, { config: { keyLength } }: Traits, name: string, x: Value, heads: number): Value {
  const { program, T } = section.model;
  return program.reshape(section.linear(name, x, { rows: heads * keyLength }), { shape: [T, heads, keyLength] });
}

function normedIfPresent(layer: Layer, name: string, x: Value): Value {
  return layer.weights.has(`${name}.weight`) ? layer.norm(name, x) : x;
}

function isChained(file: GgufFile): boolean {
  return file.hasTensor("markov_w1.weight");
}

/** @throws {UnsupportedError} for kinds of files that are not computed */
function requireComputed({ file, reader }: HeadFile): void {
  const [selector, connections] = ["selector_hidden.weight", "hyper_connection.count"];
  if (file.hasTensor(selector))
    throw new UnsupportedError("draft", `DFlash 2, which chooses a draft by scores of pairs of tokens (${selector}), is not computed`);
  if (reader.number(connections) !== undefined)
    throw new UnsupportedError("draft", `DSpark with layers of DeepSeek 4 (${reader.key(connections)}) is not computed`);
}

/** @throws {ModelError} if the file names no mask token, or its block has no room for one */
function readBlock({ reader, file }: HeadFile, target: Target): DraftBlock {
  const key = "tokenizer.ggml.mask_token_id";
  const maskId = reader.metadata.optionalNumber(key);
  const { vocabSize } = target.config;
  if (maskId === undefined)
    throw new ModelError(`draft: expected the key ${key}, got none; convert the draft again, with the model's tokenizer`);
  if (!Number.isInteger(maskId) || maskId < 0 || maskId >= vocabSize)
    throw new ModelError(`draft: expected a token from 0 to ${vocabSize - 1} in ${key}, got ${maskId}; convert the draft again`);
  // Where the file does not say, blocks have 16 tokens, as in llama.cpp.
  const size = reader.tokens("block_size") ?? 16;
  const isAlone = isChained(file);
  const firstRow = isAlone && (reader.bool("sample_from_anchor") ?? true) ? 0 : 1;
  if (size > firstRow) return { size, maskId, firstRow, isAlone };
  throw new ModelError(`draft: expected at least 2 tokens in ${reader.key("block_size")}, got ${size}; convert the draft again`);
}

/** @throws {UnsupportedError} for other activations than llama.cpp's */
function readActivation({ reader }: HeadFile): "silu" | "gelu" {
  const name = reader.string("hidden_activation") ?? "silu";
  if (name === "silu") return name;
  if (name === "gelu" || name === "gelu_pytorch_tanh") return "gelu";
  throw new UnsupportedError("draft", `${reader.key("hidden_activation")} ${shown(name)} is not computed, only silu and gelu`);
}
