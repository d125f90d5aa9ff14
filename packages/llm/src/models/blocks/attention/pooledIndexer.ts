import type { Value } from "@centella/core";
import { blockTokens } from "../../../cache/prefixCache.ts";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { ExtraCacheShape } from "../../../load/modelShape.ts";
import type { KeyTable, ModelBuilder } from "../../../model/modelBuilder.ts";
import type { Layer } from "../layer.ts";
import { readBlockLengths } from "./blockLengths.ts";
import { declareKeyCaches, headScores, type KeyCaches, seenFirst, slotsInOrder, writeKeys } from "./indexer.ts";
import { applyRope, type RopeConfig } from "./rope.ts";

/** Indexers that choose small blocks of a text by the means of their keys. A query also sees the tokens of the block that it belongs to. */
export interface PooledIndexer {
  readonly extraCache: ExtraCacheShape;
  /** Records what all layers share; undefined if the context has no more keys than each query sees. */
  open(m: ModelBuilder, rope: RopeConfig): ChooseBlocks | undefined;
}

/** The keys that the queries of a layer see, by its input `x [T, d]`; undefined: all keys. */
export type ChooseBlocks = (layer: Layer, x: Value) => readonly KeyTable[] | undefined;

interface PooledSizes {
  readonly heads: number;
  readonly keyLength: number;
  /** Keys that a query sees besides those of its own block. */
  readonly topK: number;
}

/** @throws {ModelError | UnsupportedError} for missing keys, and for blocks that do not divide those of the cache */
export function readPooledIndexer(file: MetadataReader, has: (layer: number) => boolean): PooledIndexer {
  const sizes: PooledSizes = {
    heads: file.requiredSize("attention.indexer.head_count"),
    keyLength: file.requiredSize("attention.indexer.key_length"),
    topK: file.requiredTokens("attention.indexer.top_k"),
  };
  file.finish();
  const isComputed = (length: number): boolean => length <= 0 || blockTokens % length === 0;
  const lengthOf = readBlockLengths(file, isComputed, `blocks of lengths that divide ${blockTokens} are computed`);
  const blockLengthOf = (layer: number): number => (has(layer) ? lengthOf(layer) : 0);
  const elementsOf = (layer: number): number => (blockLengthOf(layer) > 0 ? 2 * sizes.keyLength : 0);
  return {
    extraCache: { unusedUpTo: sizes.topK, elementsOf },
    open(m, rope) {
      const isNeeded = sizes.topK < m.contextLength;
      for (let layer = 0; layer < m.config.layers; layer++)
        if (!isNeeded || blockLengthOf(layer) === 0) m.weights.ignoreAll(`blk.${layer}.indexer.`);
      if (!isNeeded) return undefined;
      const caches = declareKeyCaches(m, elementsOf);
      const slots = slotsInOrder(m);
      return (layer, x) => {
        const blockLength = blockLengthOf(layer.index);
        return blockLength === 0
          ? undefined
          : [chosenKeys(layer, blockScores(layer, x, blockLength, sizes, caches, rope), blockLength, sizes, slots)];
      };
    },
  };
}

/** Scores of the blocks in all slots, `[T, slots / blockLength]`. */
function blockScores(
  layer: Layer,
  x: Value,
  blockLength: number,
  { heads: H, keyLength: D }: PooledSizes,
  caches: KeyCaches,
  rope: RopeConfig,
): Value {
  const { model, weights } = layer;
  const { program, T, positions, contextLength, config } = model;
  const raw = layer.linear("indexer.k_proj", x, { rows: D });
  // A block's key is normed after the mean and then rotated by the position of the block: rotating its weighted parts before the mean is the same.
  const first = Int32Array.from({ length: contextLength }, (_, position) => position - (position % blockLength));
  const start = program.gather(program.constant(first, "i32", [contextLength]), positions);
  const weighted = program.reshape(program.mul(raw, weights.vector("indexer.k_norm.weight", D)), { shape: [T, 1, D] });
  const parts = program.concat([program.reshape(raw, { shape: [T, 1, D] }), applyRope(model, rope, weighted, start)], { axis: 2 });
  const all = writeKeys(layer, caches, parts); // [slots, 2 · D]
  const count = Number(all.spec.shape[0]) / blockLength;
  const mean = program.mean(program.cast(program.reshape(all, { shape: [count, blockLength, 2 * D] }), { dtype: "f32" }), { axis: 1 });
  const half = (index: number): Value => program.slice(mean, { axis: 1, start: index * D, end: (index + 1) * D });
  const square = program.mean(program.mul(half(0), half(0)), { axis: 1, keepDims: true });
  const keys = program.mul(half(1), program.rsqrt(program.add(square, program.constant(Float32Array.of(config.epsilon), "f32", [1]))));
  const projected = program.reshape(layer.linear("indexer.q_proj", x, { rows: H * D }), { shape: [T, H, D] });
  const q = applyRope(model, rope, layer.norm("indexer.q_norm", projected));
  return headScores(model, q, keys);
}

/** The keys of the best blocks before a query's own, and of its own up to the query. */
function chosenKeys(layer: Layer, scores: Value, blockLength: number, { topK }: PooledSizes, slots: Value): KeyTable {
  const { model } = layer;
  const { program, T, positions, contextLength, texts } = model;
  const positionsBy = (value: (position: number) => number): Value => {
    const table = Int32Array.from({ length: contextLength }, (_, position) => value(position));
    return program.reshape(program.gather(program.constant(table, "i32", [contextLength]), positions), { shape: [T, 1] });
  };
  const count = Math.floor(Number(slots.spec.shape[1]) / blockLength);
  const isComplete = program.less(
    program.arange({ count, dtype: "i32" }),
    positionsBy((position) => Math.floor((position + 1) / blockLength)),
  );
  const never = program.constant(Float32Array.of(Number.NEGATIVE_INFINITY), "f32", [1]);
  const inOrder = program.takeAlongAxis(scores, blocksInOrder(model, blockLength), { axis: 1 });
  const k = Math.max(1, Math.min(count, Math.floor(topK / blockLength)));
  const best = program.topKIndices(program.where(isComplete, inOrder, never), { k }); // [T, k]
  const number = (value: number): Value => program.constant(Int32Array.of(value), "i32", [1]);
  const firsts = program.reshape(program.mul(best, number(blockLength)), { shape: [T, k, 1] });
  const chosen = program.reshape(program.add(firsts, program.arange({ count: blockLength, dtype: "i32" })), {
    shape: [T, k * blockLength],
  });
  const ownFirst = positionsBy((position) => Math.floor((position + 1) / blockLength) * blockLength);
  const own = program.add(ownFirst, program.arange({ count: blockLength, dtype: "i32" }));
  const places = program.concat([chosen, program.minimum(own, number(contextLength - 1))], { axis: 1 });
  const isBefore = program.less(chosen, ownFirst);
  const isUpTo = program.lessEqual(own, program.reshape(positions, { shape: [T, 1] }));
  const isSeen = program.cast(program.concat([isBefore, isUpTo], { axis: 1 }), { dtype: "f32" });
  const seen = seenFirst(program, program.takeAlongAxis(slots, places, { axis: 1 }), isSeen);
  return {
    ...texts,
    rows: program.arange({ count: T, dtype: "i32" }),
    blocks: seen.slots,
    lengths: seen.lengths,
    blockSize: 1,
    isChosen: true,
  };
}

/** Numbers of the blocks of each token's text in order of position `[T, blocks]`, among those of all slots. */
function blocksInOrder({ program, T, texts }: ModelBuilder, blockLength: number): Value {
  const { blocks, rows, blockSize } = texts;
  const count = Number(blocks.spec.shape[1]);
  const perBlock = blockSize / blockLength;
  const first = program.mul(program.gather(blocks, rows, { axis: 0 }), program.constant(Int32Array.of(perBlock), "i32", [1]));
  const within = program.arange({ count: perBlock, dtype: "i32" });
  return program.reshape(program.add(program.reshape(first, { shape: [T, count, 1] }), within), { shape: [T, count * perBlock] });
}
