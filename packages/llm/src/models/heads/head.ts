import { UnsupportedError, type Value } from "@centella/core";
import type { GgufFile } from "@centella/gguf";
import { shown } from "@centella/quant/checks";
import { ModelError } from "../../errors.ts";
import type { MetadataReader } from "../../load/metadataReader.ts";
import type { DraftDescription, ModelBuilder } from "../../model/modelBuilder.ts";
import { embeddingTable, outputLayer } from "../blocks/ends.ts";
import { Section } from "../blocks/section.ts";
import type { ModelConfig } from "../config.ts";

/** A model that drafts for another one by its hidden states, in a file of its own. */
export interface HeadFile {
  readonly file: GgufFile;
  readonly reader: MetadataReader;
}

/** The model that a head drafts for. */
export interface Target {
  readonly file: GgufFile;
  readonly config: ModelConfig;
}

/**
 * A family of heads: reads a file and describes its head of a model.
 * @throws {ModelError | UnsupportedError} naming the metadata keys that do not go with the model, or with each other
 */
export type HeadFamily = (head: HeadFile, target: Target) => DraftDescription | Promise<DraftDescription>;

/** Prefix of the names of a head's weights in programs. */
export const headPrefix = "draft.";

/** The least finite f32, the logit of tokens that a head does not know. */
const lowest = -3.4028234663852886e38;

/** @throws {ModelError} unless a number of the head's metadata is the model's */
export function requireOfTarget(reader: MetadataReader, name: string, expected: number, got: number): void {
  if (expected !== got)
    throw new ModelError(
      `draft: expected ${expected} for ${reader.key(name)}, as in the model, got ${got}; use a draft made for this model`,
    );
}

/** @throws {ModelError} unless a part of the head's metadata has as many elements as its family */
export function requireCount(key: string, expected: string, got: number, count: number): void {
  if (got !== count)
    throw new ModelError(`draft: expected ${expected} in ${key}, got ${got}; the file is of a variant that is not computed`);
}

/** @throws {ModelError} unless the head has as many tokens as the model */
export function requireSameSize({ vocabSize }: ModelConfig, { config }: Target): void {
  if (vocabSize !== config.vocabSize)
    throw new ModelError(
      `draft: expected ${config.vocabSize} entries in tokenizer.ggml.tokens, as in the model, got ${vocabSize}; use a draft made for this model`,
    );
}

/** Layers of the model by whose inputs the head drafts. @throws {ModelError} for layers that the model does not have */
export function readTargetLayers({ reader }: HeadFile, { config: { layers } }: Target): readonly number[] {
  const key = reader.key("target_layers");
  const listed = Array.from(reader.metadata.optionalNumbers(key) ?? []);
  const isUsable = listed.length > 0 && listed.every((layer) => Number.isInteger(layer) && layer >= 0 && layer <= layers);
  if (isUsable) return listed;
  throw new ModelError(
    `draft: expected layers from 0 to ${layers} in ${key}, which the model has, got ${shown(listed.join(", ") || "none")}; use a draft made for this model`,
  );
}

/** The configuration of a head's layers, which come after those of the model. */
export function afterTarget(config: ModelConfig, target: Target): ModelConfig {
  const first = target.config.layers;
  return { ...config, layers: first + config.layers, hasCache: (layer) => layer >= first };
}

/** The model's input or output. */
export function targetSection(m: ModelBuilder, { file }: Target, part: "input" | "output"): Section {
  return new Section(m, part, "", m.weightsOf(file, ""));
}

/** Embeddings of the head's tokens `[T, d]`: its own, or the model's. */
export function headEmbeddings(m: ModelBuilder, target: Target): Value {
  const section = m.weights.has("token_embd.weight") ? new Section(m, "input") : targetSection(m, target, "input");
  return m.lookUp(embeddingTable(section), m.tokens);
}

/**
 * Where the tokens of a model are among those of a head with fewer, if it has fewer: the head's number of each token, -1 for those that it does not know.
 * @throws {ModelError} unless each of the head's tokens is another one of the model's
 */
export async function readKnownTokens({ file }: HeadFile, vocabSize: number): Promise<Int32Array | undefined> {
  const tensor = file.optionalTensor("d2t");
  if (tensor === undefined) return undefined;
  if (tensor.type !== "i64") throw new UnsupportedError("tensor d2t", `ids of type ${tensor.type} are not read, only i64`);
  const { buffer, byteOffset, byteLength } = await file.readTensor(tensor);
  const bytes = new DataView(buffer, byteOffset, byteLength);
  const known = new Int32Array(vocabSize).fill(-1);
  for (let index = 0; index < tensor.elements; index++) {
    const id = Number(bytes.getBigInt64(8 * index, true));
    if (known[id] !== -1)
      throw new ModelError(
        `draft: expected different ids from 0 to ${vocabSize - 1} in d2t, got ${id} at ${index}; the file is damaged, or convert it again`,
      );
    known[id] = index;
  }
  return known;
}

/** Logits `[n, V]` of normed states `[n, d]`, by the head's output layer or the model's. `known`: see {@link readKnownTokens}. */
export function headLogits(m: ModelBuilder, target: Target, y: Value, known?: Int32Array): Value {
  const section = m.weights.has("output.weight") ? new Section(m, "output") : targetSection(m, target, "output");
  return spreadLogits(m, known, outputLayer(section, y, known && countKnown(known)));
}

/** Number of tokens that a head knows. */
export function countKnown(known: Int32Array): number {
  return known.filter((index) => index >= 0).length;
}

/** Logits of all tokens of the model `[n, V]`, by those of the tokens that the head knows. */
export function spreadLogits({ program }: ModelBuilder, known: Int32Array | undefined, logits: Value): Value {
  if (known === undefined) return logits;
  const vocabSize = known.length;
  const columns = program.gather(
    logits,
    program.constant(
      known.map((index) => Math.max(0, index)),
      "i32",
      [vocabSize],
    ),
    { axis: 1 },
  );
  const unknown = Float32Array.from(known, (index) => (index < 0 ? lowest : 0));
  return program.add(columns, program.constant(unknown, "f32", [vocabSize]));
}
