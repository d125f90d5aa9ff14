import { UnsupportedError, type Value } from "@centella/core";
import { isQuantized } from "@centella/core/backend";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { ExtraCacheShape } from "../../../load/modelShape.ts";
import type { ModelBuilder } from "../../../model/modelBuilder.ts";
import type { Layer } from "../layer.ts";
import { readBlockLengths } from "./blockLengths.ts";
import { declareKeyCaches, headScores, type KeyCaches, seenFirst, slotsInOrder, writeKeys } from "./indexer.ts";
import { applyRopeToEnd, type RopeConfig } from "./rope.ts";

/**
 * Attention to the last tokens, and to blocks of tokens with one key for each block (DeepSeek V4). Keys are values as well, one for all heads.
 * Blocks of few tokens overlap, and an indexer chooses among them. Of blocks of many tokens, queries see all that came before.
 */
export interface CompressedAttention {
  readonly extraCache: ExtraCacheShape;
  /** Tokens of a block in each layer; 0: the layer has no blocks. */
  readonly blockLengthOf: (layer: number) => number;
  /** Records what all layers share. */
  open(m: ModelBuilder, rope: RopeConfig): AttendCompressed;
}

/** Attention of a layer with blocks: `[T, H, D]`. */
export type AttendCompressed = (layer: Layer, input: CompressedInput) => Value;

export interface CompressedInput {
  /** The layer's input `[T, d]`. */
  readonly x: Value;
  /** What queries come from, `[T, rank]`. */
  readonly queries: Value;
  /** Rotated queries `[T, H, D]`. */
  readonly q: Value;
  /** The tokens' own rotated keys `[T, 1, D]`. */
  readonly key: Value;
  /** Scores of attending to nothing `[H]`. */
  readonly sinks: Value;
  readonly scale: number;
}

interface Sizes {
  /** Elements of a key. */
  readonly keyLength: number;
  /** Last tokens that a query sees. */
  readonly window: number;
  /** The indexer's heads, the elements of its keys, and the blocks that it chooses. */
  readonly heads: number;
  readonly indexLength: number;
  readonly topK: number;
}

/** Block lengths: of blocks that overlap with the one before, and of the others. */
const overlapping = 4;
const separate = 128;

/** @throws {ModelError | UnsupportedError} for missing keys, and for blocks of other lengths */
export function readCompressedAttention(file: MetadataReader): CompressedAttention {
  const sizes: Sizes = {
    keyLength: file.requiredSize("attention.key_length"),
    window: file.requiredTokens("attention.sliding_window"),
    heads: file.requiredSize("attention.indexer.head_count"),
    indexLength: file.requiredSize("attention.indexer.key_length"),
    topK: file.requiredTokens("attention.indexer.top_k"),
  };
  file.finish();
  const isComputed = (length: number): boolean => [0, overlapping, separate].includes(length);
  const blockLengthOf = readBlockLengths(file, isComputed, `the ones computed are 0, ${overlapping} and ${separate}`);
  const caches = cachedElements(sizes, blockLengthOf);
  const elementsOf = (layer: number): number => Object.values(caches).reduce((sum, lengthOf) => sum + lengthOf(layer), 0);
  return {
    extraCache: { unusedUpTo: 0, elementsOf },
    blockLengthOf,
    open(m, rope) {
      const shared = {
        ...sizes,
        rope,
        slots: slotsInOrder(m),
        parts: declareKeyCaches(m, caches.parts, "parts"),
        indexParts: declareKeyCaches(m, caches.indexParts, "indexParts"),
        index: declareKeyCaches(m, caches.index),
      };
      return (layer, input) => attend(layer, input, blockLengthOf(layer.index), shared);
    },
  };
}

/**
 * Elements that a layer keeps of each token: what it contributes to the keys of blocks, for the attention and for the indexer, and the
 * indexer's key of the block that ends with the token.
 */
function cachedElements(
  { keyLength, indexLength }: Sizes,
  blockLengthOf: (layer: number) => number,
): Readonly<Record<"parts" | "indexParts" | "index", (layer: number) => number>> {
  const ofOverlapping = (elements: number) => (layer: number) => (blockLengthOf(layer) === overlapping ? elements : 0);
  return {
    parts: (layer) => (blockLengthOf(layer) === 0 ? 0 : 2 * partLength(blockLengthOf(layer), keyLength)),
    indexParts: ofOverlapping(2 * partLength(overlapping, indexLength)),
    index: ofOverlapping(indexLength),
  };
}

/** Elements that a token contributes to the keys of all blocks that it belongs to. */
function partLength(blockLength: number, keyLength: number): number {
  return blockLength === overlapping ? 2 * keyLength : keyLength;
}

interface Shared extends Sizes {
  readonly rope: RopeConfig;
  /** Slots of each token's text in order of position `[T, positions]`. */
  readonly slots: Value;
  readonly parts: KeyCaches;
  readonly indexParts: KeyCaches;
  readonly index: KeyCaches;
}

/** Slots of keys `[T, n]`, and 1 for those that the query sees. */
interface Candidates {
  readonly slots: Value;
  readonly isSeen: Value;
}

function attend(layer: Layer, { x, queries, q, key, sinks, scale }: CompressedInput, blockLength: number, shared: Shared): Value {
  const { model, index } = layer;
  const { program, T, positions } = model;
  const { keyLength: D } = shared;
  const blockKey = blockKeys(layer, "attn", x, D, blockLength, shared.parts, shared);
  const both = program.concat([key, blockKey], { axis: 1 }); // [T, 2, D]
  const cache = model.writeCache(index, both, both);
  if (isQuantized(cache.spec.dtype))
    throw new UnsupportedError(`cacheType ${cache.spec.dtype}`, "attention to compressed keys reads heads of f16 and f32 caches");
  const rows = program.reshape(cache, { shape: [2 * Number(cache.spec.shape[0]), 1, 2 * D] });
  // Slot s has a token's own key in row 2s, and the key of the block that ends with it in row 2s + 1.
  const number = (value: number): Value => program.constant(Int32Array.of(value), "i32", [1]);
  const tokens = lastTokens(model, shared);
  const blocks = completeBlocks(layer, x, queries, blockLength, shared);
  const table = program.concat([program.mul(tokens.slots, number(2)), program.add(program.mul(blocks.slots, number(2)), number(1))], {
    axis: 1,
  });
  const seen = seenFirst(program, table, program.concat([tokens.isSeen, blocks.isSeen], { axis: 1 }));
  const activations = model.activations === "half" ? "half" : "f32";
  const params = { scale, sinks, blockSize: 1, causal: false, activations } as const;
  return program.attention(q, rows, positions, program.arange({ count: T, dtype: "i32" }), seen.slots, seen.lengths, params);
}

/** The tokens of the window. */
function lastTokens(m: ModelBuilder, { window, slots }: Shared): Candidates {
  const at = earlier(m, Math.min(window, m.contextLength));
  return { slots: slotsAt(m, slots, at), isSeen: m.program.cast(isPosition(m, at), { dtype: "f32" }) };
}

/** The blocks that end up to the query: all, or those that the indexer chooses. */
function completeBlocks(layer: Layer, x: Value, queries: Value, blockLength: number, shared: Shared): Candidates {
  const { model } = layer;
  const { program, T, positions, contextLength } = model;
  const count = Math.max(1, Math.floor(contextLength / blockLength));
  const lasts = Int32Array.from({ length: count }, (_, block) => Math.min((block + 1) * blockLength, contextLength) - 1);
  const slots = program.gather(shared.slots, program.constant(lasts, "i32", [count]), { axis: 1 }); // [T, count]
  const completed = Int32Array.from({ length: contextLength }, (_, position) => Math.floor((position + 1) / blockLength));
  const before = program.reshape(program.gather(program.constant(completed, "i32", [contextLength]), positions), { shape: [T, 1] });
  const isComplete = program.less(program.arange({ count, dtype: "i32" }), before);
  const isSeen = program.cast(isComplete, { dtype: "f32" });
  if (blockLength !== overlapping || count <= shared.topK) {
    model.weights.ignoreAll(`blk.${layer.index}.indexer`);
    return { slots, isSeen };
  }
  const scores = program.takeAlongAxis(indexScores(layer, x, queries, shared), slots, { axis: 1 });
  const never = program.constant(Float32Array.of(Number.NEGATIVE_INFINITY), "f32", [1]);
  const chosen = program.topKIndices(program.where(isComplete, scores, never), { k: shared.topK });
  return { slots: program.takeAlongAxis(slots, chosen, { axis: 1 }), isSeen: program.takeAlongAxis(isSeen, chosen, { axis: 1 }) };
}

/** The indexer's scores of the blocks that end in each slot, `[T, slots]`. */
function indexScores(layer: Layer, x: Value, queries: Value, shared: Shared): Value {
  const { heads: H, indexLength: D, rope } = shared;
  const { program, T } = layer.model;
  const key = blockKeys(layer, "indexer", x, D, overlapping, shared.indexParts, shared);
  const keys = writeKeys(layer, shared.index, key);
  const projected = layer.unscaledProduct("indexer.attn_q_b", queries, { rows: H * D });
  const q = applyRopeToEnd(layer.model, rope, program.reshape(projected, { shape: [T, H, D] }));
  const factors = program.scale(layer.unscaledProduct("indexer.proj", x, { rows: H }), { by: 1 / Math.sqrt(D * H) });
  return headScores(layer.model, q, keys, factors);
}

/**
 * The rotated keys of the blocks that end with each token `[T, 1, D]`: means of what their tokens contribute, weighted by a softmax of scores for
 * each element. Keys of tokens within a block mean nothing. A token of blocks that overlap contributes its first half to the block after its own.
 */
function blockKeys(
  layer: Layer,
  name: "attn" | "indexer",
  x: Value,
  D: number,
  blockLength: number,
  caches: KeyCaches,
  { slots, rope }: Shared,
): Value {
  const { model, weights } = layer;
  const { program, T, positions, contextLength } = model;
  const width = partLength(blockLength, D);
  const within = Int32Array.from({ length: contextLength }, (_, position) => position % blockLength);
  const place = program.gather(program.constant(within, "i32", [contextLength]), positions);
  const bias = program.embedding(weights.vector(`${name}_compressor_ape.weight`, [blockLength, width]), place);
  const scores = program.add(layer.unscaledProduct(`${name}_compressor_gate`, x, { rows: width }), bias);
  const own = program.concat([layer.unscaledProduct(`${name}_compressor_kv`, x, { rows: width }), scores], { axis: 1 });
  const all = writeKeys(layer, caches, program.reshape(own, { shape: [T, 1, 2 * width] })); // [slots, 2 · width]
  const count = (width / D) * blockLength;
  const at = earlier(model, count);
  const parts = program.embedding(all, slotsAt(model, slots, at)); // [T, count, 2 · width], the last token first
  const half = (from: number): Value => {
    const piece = (block: number): Value => {
      const tokens = program.slice(parts, { axis: 1, start: block * blockLength, end: (block + 1) * blockLength });
      const start = from + width - (block + 1) * D;
      return program.slice(tokens, { axis: 2, start, end: start + D });
    };
    return width === D ? piece(0) : program.concat([piece(0), piece(1)], { axis: 1 });
  };
  const isToken = program.reshape(isPosition(model, at), { shape: [T, count, 1] });
  const never = program.constant(Float32Array.of(Number.NEGATIVE_INFINITY), "f32", [1]);
  const factors = program.softmax(program.where(isToken, half(width), never), { axis: 1 });
  const mean = layer.norm(`${name}_compressor_norm`, program.sum(program.mul(half(0), factors), { axis: 1 })); // [T, D]
  const first = program.add(positions, program.constant(Int32Array.of(1 - blockLength), "i32", [1]));
  return applyRopeToEnd(model, rope, program.reshape(mean, { shape: [T, 1, D] }), first);
}

/** Positions of the last `count` tokens up to each one, from its own backwards: `[T, count]`, below 0 before the text. */
function earlier({ program, T, positions }: ModelBuilder, count: number): Value {
  return program.sub(program.reshape(positions, { shape: [T, 1] }), program.arange({ count, dtype: "i32" }));
}

/** Whether a position is not before the text. */
function isPosition({ program }: ModelBuilder, at: Value): Value {
  return program.lessEqual(program.constant(Int32Array.of(0), "i32", [1]), at);
}

/** Slots of positions `[T, n]`, any slot before the text. */
function slotsAt({ program }: ModelBuilder, slots: Value, at: Value): Value {
  return program.takeAlongAxis(slots, program.maximum(at, program.constant(Int32Array.of(0), "i32", [1])), { axis: 1 });
}
