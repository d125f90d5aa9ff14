import { UnsupportedError, type Value } from "@centella/core";
import { isQuantized } from "@centella/core/backend";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { ExtraCacheShape } from "../../../load/modelShape.ts";
import type { ModelBuilder } from "../../../model/modelBuilder.ts";
import type { Heads, Layer } from "../layer.ts";
import { declareKeyCaches, type KeyCaches, seenFirst, slotsInOrder, writeKeys } from "./indexer.ts";
import { applyRope, type RopeConfig } from "./rope.ts";

/** Attention of `heads` to the keys that a layer's indexer chooses by its input `x [T, d]`: `[n, d]`. */
export type AttendSparsely = (layer: Layer, x: Value, heads: Heads) => Value;

/** Indexers that choose blocks of a text, for each head of keys. */
export interface BlockIndexer {
  readonly extraCache: ExtraCacheShape;
  /** Records what all layers share; undefined if the context has no more keys than each query sees. */
  open(m: ModelBuilder, rope: RopeConfig): AttendSparsely | undefined;
}

interface BlockSizes {
  /** Elements of an indexer's key. */
  readonly keyLength: number;
  /** Positions of a block. */
  readonly blockLength: number;
  /** Blocks that a query sees, and how many of these are its own and the ones before it. */
  readonly blocks: number;
  readonly localBlocks: number;
}

/** What all layers share. */
interface SharedTables {
  readonly caches: KeyCaches;
  /** Slots of each token's text in order of position, whole blocks of them `[T, positions]`. */
  readonly slots: Value;
  /** Blocks that each query sees whatever their scores, `[T, blocks]` bool. */
  readonly isLocal: Value;
}

/** Reads the indexers of MiniMax Sparse Attention, in the layers that `has` names. @throws {ModelError} naming every missing key at once */
export function readBlockIndexer(file: MetadataReader, has: (layer: number) => boolean): BlockIndexer {
  const sizes: BlockSizes = {
    keyLength: file.requiredSize("attention.indexer.key_length"),
    blockLength: file.requiredTokens("attention.indexer.block_size"),
    blocks: file.requiredTokens("attention.indexer.top_k"),
    localBlocks: file.tokens("attention.indexer.local_blocks") ?? 0,
  };
  file.finish();
  const topK = sizes.blocks * sizes.blockLength;
  const lengthOf = (layer: number): number => (has(layer) ? sizes.keyLength : 0);
  return {
    extraCache: { unusedUpTo: topK, elementsOf: lengthOf },
    open(m, rope) {
      if (topK >= m.contextLength) {
        for (let layer = 0; layer < m.config.layers; layer++) m.weights.ignoreAll(`blk.${layer}.indexer.`);
        return undefined;
      }
      const shared = shareTables(m, sizes, declareKeyCaches(m, lengthOf));
      return (layer, x, heads) => attendToBlocks(layer, x, heads, rope, sizes, shared);
    },
  };
}

function shareTables(m: ModelBuilder, { blockLength, localBlocks }: BlockSizes, caches: KeyCaches): SharedTables {
  const { program, positions, contextLength, T } = m;
  const inOrder = slotsInOrder(m);
  const stored = Number(inOrder.spec.shape[1]);
  const count = Math.ceil(stored / blockLength);
  // Positions that fill up the last block repeat a slot. No query sees them.
  const filled = Int32Array.from({ length: count * blockLength }, (_, position) => Math.min(position, stored - 1));
  const slots = program.gather(inOrder, program.constant(filled, "i32", [filled.length]), { axis: 1 });
  const blockOf = Int32Array.from({ length: contextLength }, (_, position) => Math.floor(position / blockLength));
  const own = program.gather(program.constant(blockOf, "i32", [contextLength]), positions, { axis: 0 });
  const distance = program.sub(program.reshape(own, { shape: [T, 1] }), program.arange({ count, dtype: "i32" })); // [T, blocks]
  const number = (value: number): Value => program.constant(Int32Array.of(value), "i32", [1]);
  const isLocal = program.logicalAnd(program.lessEqual(number(0), distance), program.less(distance, number(localBlocks)));
  return { caches, slots, isLocal };
}

/** Attends to the blocks of the highest scores, for each head of keys with the queries of its group. */
function attendToBlocks(layer: Layer, x: Value, { q, k, v }: Heads, rope: RopeConfig, sizes: BlockSizes, shared: SharedTables): Value {
  const { model, index } = layer;
  const { program, T, positions } = model;
  const { heads: H, kvHeads, keyLength: dK, valueLength: dV } = model.config.headsOf(index);
  const { keyLength: D } = sizes;
  const vector = (name: string, heads: number): Value => {
    const projected = program.reshape(layer.unscaledProduct(`indexer.${name}_proj`, x, { rows: heads * D }), { shape: [T, heads, D] });
    return applyRope(model, rope, layer.norm(`indexer.${name}_norm`, projected));
  };
  const keys = writeKeys(layer, shared.caches, vector("k", 1)); // [slots, D]
  const indexQueries = vector("q", kvHeads);
  const cache = model.writeCache(index, k, v);
  if (isQuantized(cache.spec.dtype))
    throw new UnsupportedError(`cacheType ${cache.spec.dtype}`, "sparse attention by blocks reads heads of f16 and f32 caches");
  const rows = Number(cache.spec.shape[0]) * kvHeads;
  const heads = program.reshape(cache, { shape: [rows, 1, dK + dV] });
  const activations = model.activations === "half" ? "half" : "f32";
  const params = { scale: 1 / Math.sqrt(dK), blockSize: 1, causal: false, activations } as const;
  const group = H / kvHeads;
  const outputs = Array.from({ length: kvHeads }, (_, head) => {
    const own = program.slice(indexQueries, { axis: 1, start: head, end: head + 1 });
    const scores = program.matmul(program.reshape(own, { shape: [T, D] }), keys, { transposeB: true }); // [T, slots]
    const { slots, lengths } = highestBlocks(model, scores, sizes, shared);
    // Slot s of this head is row s · Hkv + head of the cache's heads.
    const number = (value: number): Value => program.constant(Int32Array.of(value), "i32", [1]);
    const table = program.add(program.mul(slots, number(kvHeads)), number(head));
    const queries = program.slice(q, { axis: 1, start: head * group, end: (head + 1) * group });
    return program.attention(queries, heads, positions, program.arange({ count: T, dtype: "i32" }), table, lengths, params);
  });
  return layer.attentionOutput(program.concat(outputs, { axis: 1 }));
}

/** Slots `[T, keys]` of the blocks with the highest scores, those that the query sees first, and how many it sees `[T]`. */
function highestBlocks(
  { program, T, positions }: ModelBuilder,
  scores: Value,
  { blockLength, blocks }: BlockSizes,
  { slots, isLocal }: SharedTables,
): { readonly slots: Value; readonly lengths: Value } {
  const count = Number(slots.spec.shape[1]);
  const own = program.reshape(positions, { shape: [T, 1] });
  const constant = (value: number): Value => program.constant(Float32Array.of(value), "f32", [1]);
  const isSeen = program.lessEqual(program.arange({ count, dtype: "i32" }), own);
  const seen = program.where(isSeen, program.takeAlongAxis(scores, slots, { axis: 1 }), constant(Number.NEGATIVE_INFINITY));
  const best = program.max(program.reshape(seen, { shape: [T, count / blockLength, blockLength] }), { axis: 2 }); // [T, blocks]
  const chosen = program.topKIndices(program.where(isLocal, constant(Number.POSITIVE_INFINITY), best), { k: blocks });
  const first = program.mul(chosen, program.constant(Int32Array.of(blockLength), "i32", [1]));
  const within = program.arange({ count: blockLength, dtype: "i32" });
  const keys = blocks * blockLength;
  const places = program.reshape(program.add(program.reshape(first, { shape: [T, blocks, 1] }), within), { shape: [T, keys] });
  const counts = program.cast(program.lessEqual(places, own), { dtype: "f32" }); // 1 where the query sees the key
  return seenFirst(program, program.takeAlongAxis(slots, places, { axis: 1 }), counts);
}
