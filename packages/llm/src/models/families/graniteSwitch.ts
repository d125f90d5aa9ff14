import type { Value } from "@centella/core";
import { ModelError } from "../../errors.ts";
import type { MetadataReader } from "../../load/metadataReader.ts";
import { adaptedFeedForward, adaptedHeads, adaptedProduct, type ChosenAdapters } from "../blocks/adaptedProducts.ts";
import { declareKeyCaches, type KeyCaches, writeKeys } from "../blocks/attention/indexer.ts";
import { readRope } from "../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../blocks/ends.ts";
import { type Layer, layersOf } from "../blocks/layer.ts";
import { type ModelConfig, readConfig } from "../config.ts";
import type { Family } from "../family.ts";
import { graniteScales } from "./variants.ts";

/** Granite Switch: Granite with adapters in its file. A token of the text chooses the adapter of all tokens from it on. */
export const family: Family = (file) => {
  const { embeddingScale, attention, residualScale = 1, logitScale = 1 } = graniteScales(file);
  const lengthOf = (layer: number): number => (layer === 0 ? chooserLength : 0);
  const config: ModelConfig = { ...readConfig(file), extraCache: { unusedUpTo: 0, elementsOf: lengthOf } };
  const adapters = readAdapters(file, config);
  const rope = file.bool("rope.scaling.finetuned") === false ? undefined : readRope(file, "norm", config);
  const scale = attention?.scale ?? 1 / Math.sqrt(config.keyLength);
  const { embeddingLength: d, heads: H, keyLength: dK } = config;
  return {
    config,
    forward(m) {
      const { program } = m;
      const caches = declareKeyCaches(m, lengthOf, "adapter");
      const ids = program.gather(program.constant(adapters.substitutes, "i32", [config.vocabSize]), m.tokens);
      let x = embed(m, embeddingScale, ids);
      let chosen: Value | undefined;
      for (const layer of layersOf(m)) {
        chosen ??= chooseAdapters(layer, adapters, caches);
        const heads = layer.rope(adaptedHeads(layer, layer.norm("attn_norm", x), { ...adapters, chosen }), rope);
        const attended = program.reshape(m.attend(layer.index, heads.q, heads.k, heads.v, { scale }), { shape: [m.T, H * dK] });
        chosen = layer.pick(chosen);
        const middle = program.add(
          layer.pick(x),
          m.scale(adaptedProduct(layer, "attn_output", layer.pick(attended), d, { ...adapters, chosen }), residualScale),
        );
        const fed = adaptedFeedForward(layer, layer.norm("ffn_norm", middle), { ...adapters, chosen });
        x = program.add(middle, m.scale(fed, residualScale));
      }
      return logits(m, outputNorm(m, x), { scale: logitScale });
    },
  };
};

/** Elements of what the cache keeps of a token for the choice of adapters: its score and its adapter. */
const chooserLength = 2;
/** llama.cpp's. */
const defaultGain = 15;

/** The adapters of a file. Number 0 stands for none, its matrices are zeros. */
interface SwitchedAdapters extends Omit<ChosenAdapters, "chosen"> {
  /** The adapter that each token of the vocabulary chooses; 0 if it chooses none. */
  readonly chosenBy: Float32Array;
  /** The token whose embedding stands for each token. */
  readonly substitutes: Int32Array;
  /** Score of tokens that choose an adapter, whose negation is that of all others. */
  readonly gain: number;
}

/** @throws {ModelError} for tokens that are not of the vocabulary, or are not as many as adapters */
function readAdapters(file: MetadataReader, { vocabSize }: ModelConfig): SwitchedAdapters {
  const count = file.requiredSize("adapters.count");
  const rank = file.requiredSize("adapters.lora_rank");
  file.finish();
  const tokens = (name: string): readonly number[] => {
    const ids = Array.from(file.metadata.optionalNumbers(file.key(name)) ?? []);
    if (ids.length === count && ids.every((id) => Number.isInteger(id) && id >= 0 && id < vocabSize)) return ids;
    throw new ModelError(`metadata: expected ${file.key(name)} to be ${count} tokens below ${vocabSize}; convert the model again`);
  };
  const chosenBy = new Float32Array(vocabSize);
  const substitutes = Int32Array.from({ length: vocabSize }, (_, id) => id);
  const replacements = tokens("adapters.token_ids_substitute");
  for (const [index, id] of tokens("adapters.token_ids_activate").entries()) {
    chosenBy[id] = index + 1;
    substitutes[id] = replacements[index] ?? id;
  }
  return { count: count + 1, rank, chosenBy, substitutes, gain: file.positive("adapters.router_gain") ?? defaultGain };
}

/**
 * The number of each token's adapter `[T, 1]`, as an f32. A head attends to all tokens of the text so far, by scores that are so far apart that it
 * returns the adapter of the token that chose one.
 */
function chooseAdapters(layer: Layer, { count, chosenBy, gain }: SwitchedAdapters, caches: KeyCaches): Value {
  const { program, T, tokens, texts, positions, config } = layer.model;
  const table = Float32Array.from({ length: config.vocabSize * chooserLength }, (_, i) => {
    const adapter = chosenBy[Math.floor(i / chooserLength)] ?? 0;
    return i % chooserLength === 1 ? adapter : adapter > 0 ? gain : -gain;
  });
  const own = program.embedding(program.constant(table, "f32", [config.vocabSize, chooserLength]), tokens);
  const keys = writeKeys(layer, caches, program.reshape(own, { shape: [T, 1, chooserLength] })); // [slots, 2]
  const cache = program.reshape(keys, { shape: [Number(keys.spec.shape[0]), 1, chooserLength] });
  const query = program.expand(program.constant(Float32Array.of(1), "f32", [1, 1, 1]), { shape: [T, 1, 1] });
  const { rows, blocks, lengths, blockSize } = texts;
  const mean = program.attention(query, cache, positions, rows, blocks, lengths, { scale: 1, blockSize });
  return program.round(program.clip(program.reshape(mean, { shape: [T, 1] }), { min: 0, max: count - 1 }));
}
