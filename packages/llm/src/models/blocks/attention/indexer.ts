import type { Value } from "@centella/core";
import { elementAt, entryOf } from "@centella/quant/checks";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { ExtraCacheShape } from "../../../load/modelShape.ts";
import type { KeyTable, ModelBuilder } from "../../../model/modelBuilder.ts";
import type { Layer } from "../layer.ts";
import { applyRope, applyRopeToEnd, type RopeConfig, type RopeType } from "./rope.ts";

/** Chooses the keys that queries see, by a layer's input `[T, d]` and by the vectors that its queries come from; undefined for all keys. */
export type ChooseKeys = (layer: Layer, x: Value, queries: Value) => readonly KeyTable[] | undefined;

/** The indexers of a model. */
export interface Indexer {
  readonly extraCache: ExtraCacheShape;
  /** Records what all layers share. The rope is that of the attention. */
  open(m: ModelBuilder, rope: RopeConfig): ChooseKeys;
}

export interface IndexerOptions {
  readonly ropeType: RopeType;
  /** Which elements of queries and keys are rotated. Default "first". */
  readonly rotates?: "first" | "last";
  /** Epsilon of the keys' layer norm. */
  readonly epsilon: number;
  /** Whether a layer has an indexer of its own; the others take the keys that the last one before them chose. */
  readonly has: (layer: number) => boolean;
}

/** Sizes of an indexer. */
interface IndexerSizes {
  readonly heads: number;
  readonly keyLength: number;
  readonly topK: number;
  readonly epsilon: number;
  readonly rotated: (x: Value) => Value;
}

/** Query heads whose scores of all tokens are in memory at once. */
const headsAtOnce = 8;

/** Reads the lightning indexers of DeepSeek Sparse Attention. @throws {ModelError} naming every missing key at once */
export function readIndexer(file: MetadataReader, { ropeType, rotates = "first", epsilon, has }: IndexerOptions): Indexer {
  const heads = file.requiredSize("attention.indexer.head_count");
  const keyLength = file.requiredSize("attention.indexer.key_length");
  const topK = file.requiredTokens("attention.indexer.top_k");
  file.finish();
  const lengthOf = (layer: number): number => (has(layer) ? keyLength : 0);
  return {
    extraCache: { unusedUpTo: topK, elementsOf: lengthOf },
    open(m, rope) {
      const isNeeded = topK < m.contextLength;
      for (let layer = 0; layer < m.config.layers; layer++) if (!isNeeded || !has(layer)) m.weights.ignoreAll(`blk.${layer}.indexer.`);
      if (!isNeeded) return () => undefined;
      const apply = rotates === "first" ? applyRope : applyRopeToEnd;
      const sizes = { heads, keyLength, topK, epsilon, rotated: (x: Value): Value => apply(m, { ...rope, type: ropeType }, x) };
      const caches = declareKeyCaches(m, lengthOf);
      const slots = slotsInOrder(m);
      let chosen: readonly KeyTable[] | undefined;
      return (layer, x, queries) => {
        if (has(layer.index)) chosen = [highestKeys(m, scores(layer, x, queries, sizes, caches), slots, topK)];
        return chosen;
      };
    },
  };
}

/**
 * Scores of the keys in all slots (DeepSeek-AI, 2025, "DeepSeek-V3.2", equation 1): the sum over heads of `weight · relu(q · k)`,
 * `x [T, d], queries [T, rank] -> [T, slots]`. llama.cpp rotates queries and keys by a Hadamard matrix for quantised caches, which changes
 * no product.
 */
function scores(
  layer: Layer,
  x: Value,
  queries: Value,
  { heads: H, keyLength: D, epsilon, rotated }: IndexerSizes,
  caches: KeyCaches,
): Value {
  const { model, weights } = layer;
  const { program, T } = model;
  const norm = { weight: weights.vector("indexer.k_norm.weight", D), bias: weights.vector("indexer.k_norm.bias", D) };
  const compressed = layer.unscaledProduct("indexer.attn_k", x, { rows: D });
  const key = program.layerNorm(compressed, norm.weight, { eps: epsilon, bias: norm.bias });
  const keys = writeKeys(layer, caches, rotated(program.reshape(key, { shape: [T, 1, D] }))); // [slots, D]
  const q = rotated(program.reshape(layer.unscaledProduct("indexer.attn_q_b", queries, { rows: H * D }), { shape: [T, H, D] }));
  const factors = program.scale(layer.unscaledProduct("indexer.proj", x, { rows: H }), { by: 1 / Math.sqrt(D * H) });
  return headScores(model, q, keys, factors);
}

/** The sum over heads of `factor · relu(q · k)`: `q [T, H, D], keys [slots, D], factors [T, H]? -> [T, slots]`. Factors are 1 by default. */
export function headScores({ program, T }: ModelBuilder, q: Value, keys: Value, factors?: Value): Value {
  const H = Number(q.spec.shape[1]);
  const perHead = factors && program.reshape(factors, { shape: [T, H, 1] });
  const part = (start: number): Value => {
    const heads = { axis: 1, start, end: Math.min(H, start + headsAtOnce) };
    const products = program.relu(program.matmul(program.slice(q, heads), keys, { transposeB: true })); // [T, heads, slots]
    return program.sum(perHead === undefined ? products : program.mul(products, program.slice(perHead, heads)), { axis: 1 });
  };
  return Array.from({ length: Math.ceil(H / headsAtOnce) }, (_, group) => part(group * headsAtOnce)).reduce((sum, y) =>
    program.add(sum, y),
  );
}

/** The caches of keys, by layer, `[slots, 1, D]`. */
export type KeyCaches = ReadonlyMap<number, Value>;

/**
 * Declares caches of keys for the layers where their length is not 0. Blocks of a quantised cache cannot be multiplied, so these keys are f16
 * then.
 */
export function declareKeyCaches(m: ModelBuilder, lengthOf: (layer: number) => number, name: string = "index"): KeyCaches {
  const layers = Array.from({ length: m.config.layers }, (_, layer) => layer).filter((layer) => lengthOf(layer) > 0);
  return new Map(
    layers.map((layer) => {
      const { dtype, shape } = entryOf(m.cacheSpecs, `cache.${layer}`);
      const spec = { dtype: dtype === "q8_0" ? "f16" : dtype, shape: [elementAt(shape, 0), 1, lengthOf(layer)] } as const;
      return [layer, m.declareCache(`cache.${layer}.${name}`, layer, spec)];
    }),
  );
}

/** Writes keys `[T, 1, D]` to the layer's cache, whose newest version `[slots, D]` it returns. */
export function writeKeys({ model, index }: Layer, caches: KeyCaches, keys: Value): Value {
  const { program, slots } = model;
  const cache = entryOf(caches, index);
  const [count, , size] = cache.spec.shape as readonly [number, number, number];
  // `kvWrite` stores two vectors next to each other: here, the two halves of a key.
  const half = (start: number, end: number): Value => program.slice(keys, { axis: -1, start, end });
  const middle = Math.ceil(size / 2);
  const written = program.kvWrite(cache, half(0, middle), half(middle, size), slots);
  return program.reshape(written, { shape: [count, size] });
}

/** The slots of each token's text in order of position, `[T, positions]`. Those that the text does not have yet are any slots. */
export function slotsInOrder({ program, T, texts }: ModelBuilder): Value {
  const { blocks, rows, blockSize } = texts;
  const count = Number(blocks.spec.shape[1]);
  const first = program.mul(program.gather(blocks, rows, { axis: 0 }), program.constant(Int32Array.of(blockSize), "i32", [1]));
  const within = program.arange({ count: blockSize, dtype: "i32" });
  const slots = program.add(program.reshape(first, { shape: [T, count, 1] }), within); // [T, count, blockSize]
  return program.reshape(slots, { shape: [T, count * blockSize] });
}

/** Slots `[T, n]` with those that `isSeen [T, n]` marks by 1 first, and how many these are `[T]`. */
export function seenFirst(
  program: ModelBuilder["program"],
  slots: Value,
  isSeen: Value,
): { readonly slots: Value; readonly lengths: Value } {
  const order = program.topKIndices(isSeen, { k: Number(isSeen.spec.shape[1]) });
  return {
    slots: program.takeAlongAxis(slots, order, { axis: 1 }),
    lengths: program.cast(program.sum(isSeen, { axis: 1 }), { dtype: "i32" }),
  };
}

/** The keys of the highest scores among those up to each query, by `scores [T, all slots]` and `slots [T, positions]`. */
function highestKeys({ program, T, positions, texts }: ModelBuilder, scores: Value, slots: Value, topK: number): KeyTable {
  const count = Number(slots.spec.shape[1]);
  const inOrder = program.takeAlongAxis(scores, slots, { axis: 1 });
  const isSeen = program.lessEqual(program.arange({ count, dtype: "i32" }), program.reshape(positions, { shape: [T, 1] }));
  const never = program.constant(Float32Array.of(Number.NEGATIVE_INFINITY), "f32", [1]);
  const highest = program.topKIndices(program.where(isSeen, inOrder, never), { k: topK }); // [T, k], best first
  const seen = program.add(positions, program.constant(Int32Array.of(1), "i32", [1]));
  return {
    ...texts,
    // Each query has a row of its own, of blocks with one slot.
    rows: program.arange({ count: T, dtype: "i32" }),
    blocks: program.takeAlongAxis(slots, highest, { axis: 1 }),
    lengths: program.minimum(seen, program.constant(Int32Array.of(topK), "i32", [1])),
    blockSize: 1,
    isChosen: true,
  };
}
