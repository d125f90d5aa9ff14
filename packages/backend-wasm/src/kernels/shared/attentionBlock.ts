import {
  type Expr,
  type FunctionBuilder,
  type FunctionRef,
  f32,
  f32x4,
  i32,
  type Local,
  type ModuleBuilder,
  v128,
} from "../../emit/index.ts";
import { laneMask } from "../../matmul/lanes.ts";
import type { Target } from "../../target.ts";
import { aligned } from "./aligned.ts";
import { emitWeights, type Pointer, part, partBytes } from "./attentionParts.ts";
import {
  emitScores,
  emitValues,
  forEachTile,
  keyBlock,
  range,
  rangeBytes,
  scoreBytes,
  spareKeys,
  spreadBytes,
  tileKeys,
} from "./attentionTiles.ts";
import { type CacheType, emitGather, emitTouch } from "./cacheRow.ts";

type I32 = Expr<"i32">;

/** A thread's scratch starts with the number of positions without a slot, followed by these positions. */
const spreadAt = aligned(4 + 4 * keyBlock);
const rangesAt = spreadAt + spreadBytes;

/** Elements of a cache row are copied in steps of this size. */
const rowStep = { f32: 16, f16: 16, q8_0: 32 } as const;

/** Offsets in a thread's scratch memory for up to `rows` queries. */
export interface ScratchLayout {
  /** Queries, interleaved by vectors within a tile. */
  readonly packed: number;
  readonly scores: number;
  /** Keys or values as f32. */
  readonly tile: number;
  readonly parts: number;
  readonly bytes: number;
}

export function scratchLayout(dK: number, dV: number, rows: number): ScratchLayout {
  const padded = (n: number): number => 32 * Math.ceil(n / 32);
  const packed = aligned(rangesAt + rangeBytes * rows);
  const scores = aligned(packed + 4 * padded(dK) * rows);
  const tile = scores + scoreBytes * rows;
  const parts = tile + 4 * (tileKeys + spareKeys) * Math.max(padded(dK), padded(dV) + 32);
  return { packed, scores, tile, parts, bytes: aligned(parts + 2 * rows * partBytes(dV)) };
}

/** Parameters of all attention functions, in order: inputs, extents, options, and the layout of scratch memory. */
export const common = {
  q: "i32",
  cache: "i32",
  y: "i32",
  positions: "i32",
  seqOf: "i32",
  blockTable: "i32",
  seqLens: "i32",
  slopes: "i32",
  bias: "i32",
  reach: "i32",
  sinks: "i32",
  tokens: "i32",
  heads: "i32",
  kvHeads: "i32",
  dK: "i32",
  dV: "i32",
  slots: "i32",
  sequences: "i32",
  maxBlocks: "i32",
  blockSize: "i32",
  causal: "i32",
  window: "i32",
  scale: "f32",
  softcap: "f32",
  threadScratch: "i32",
  threadScratchBytes: "i32",
  packed: "i32",
  scores: "i32",
  tile: "i32",
  parts: "i32",
  queries: "i32",
} as const;

type Parameters = { readonly [K in keyof typeof common]: Local<(typeof common)[K]> };

const ofBlock = {
  scratch: "i32",
  to: "i32",
  first: "i32",
  last: "i32",
  sequence: "i32",
  kvHead: "i32",
  from: "i32",
  end: "i32",
  touched: "i32",
} as const;

/**
 * Tokens `first` to `last` (exclusive) of one sequence, and one cache head. Lines of `touched` heads are prefetched.
 */
const blockSignature: typeof common & typeof ofBlock = { ...common, ...ofBlock };

export type Block = FunctionRef<typeof blockSignature, undefined>;

/** The block function of a cache type. */
export interface TypedBlock {
  readonly type: CacheType;
  readonly block: Block;
}

/** Positions that a token of a sequence sees, as `from <= position < end`. Empty for sequences outside the table. */
export function emitVisible(
  f: FunctionBuilder,
  p: Parameters,
  token: Pointer,
  sequence: Pointer,
): { readonly position: Pointer; readonly from: Pointer; readonly end: Pointer } {
  const [position, from, end] = f.locals("i32", 3);
  f.set(position, i32.load(i32.add(p.positions, i32.shl(token, 2))));
  f.setI32(end, 0);
  f.if(i32.ltU(sequence, p.sequences), () => {
    const most = f.let(i32.mul(p.maxBlocks, p.blockSize));
    f.set(end, i32.load(i32.add(p.seqLens, i32.shl(sequence, 2))));
    f.set(end, i32.select(i32.ltS(end, most), end, most));
    const after = f.let(i32.add(position, 1));
    f.if(p.causal, () => f.set(end, i32.select(i32.ltS(end, after), end, after)));
  });
  f.set(from, i32.add(i32.sub(position, p.window), 1));
  f.set(from, i32.select(i32.and(i32.gtS(p.window, 0), i32.gtS(from, 0)), from, 0));
  return { position, from, end };
}

/**
 * Emits `attention.block.<type>` for each cache type: {@link part}s of the tokens and heads of one group, over
 * positions `from` to `end` of a block. Keys, and then values, are gathered tile by tile and used by all queries of the
 * group, which share the conversion. In between, scores wait for the block's largest one.
 */
export function emitBlocks(module: ModuleBuilder, target: Target, types: readonly CacheType[]): readonly TypedBlock[] {
  const kernels = { scores: emitScores(module, target), weights: emitWeights(module, target), values: emitValues(module, target) };
  const pack = emitPack(module);
  const touch = emitTouch(module);
  return types.map((type) => {
    const gather = emitGather(module, type);
    const block = module.function(`attention.block.${type}`, blockSignature, (f, p) => {
      const { scratch, to, first, last, sequence, kvHead, from, end } = p;
      const group = f.let(i32.divU(p.heads, p.kvHeads));
      const count = f.let(i32.mul(i32.sub(last, first), group));
      const paddedBytes = (n: I32): I32 => i32.shl(i32.and(i32.add(n, rowStep[type] - 1), -rowStep[type]), 2);
      const keyBytes = f.let(paddedBytes(p.dK));
      // A block of q8_0 may span keys and values: values are copied from the start of their first block.
      const shift = f.let(type === "q8_0" ? i32.and(p.dK, 31) : i32.const(0));
      const valueWidth = f.let(i32.add(p.dV, shift));
      const valueBytes = f.let(paddedBytes(valueWidth));
      const bytesOf = (elements: I32): I32 =>
        type === "q8_0" ? i32.mul(i32.shrU(elements, 5), 34) : i32.shl(elements, type === "f32" ? 2 : 1);
      const headBytes = f.let(bytesOf(i32.add(p.dK, p.dV)));
      const slotBytes = f.let(i32.mul(headBytes, p.kvHeads));
      const keys = f.let(i32.add(p.cache, i32.mul(kvHead, headBytes)));
      const values = f.let(i32.add(keys, bytesOf(p.dK)));
      const table = f.let(i32.add(p.blockTable, i32.shl(i32.mul(sequence, p.maxBlocks), 2)));
      const [ranges, packed] = [f.let(i32.add(scratch, rangesAt)), f.let(i32.add(scratch, p.packed))];
      const [scores, tile] = [f.let(i32.add(scratch, p.scores)), f.let(i32.add(scratch, p.tile))];
      const size = f.let(i32.add(i32.shl(vectorsOf(p.dV), 4), part.values));

      emitRanges(f, p, group, ranges);
      const { blockSize, slots } = p;
      const bytes = i32.mul(p.touched, headBytes);
      f.store(scratch, f.invoke(touch, { at: from, end, memory: keys, slotBytes, bytes, table, blockSize, slots }));
      forEachTile(f, count, (row, rows) => {
        const [r, token, head] = f.locals("i32", 3);
        f.for(r, 0, rows, 1, () => {
          f.set(token, i32.add(first, i32.divU(i32.add(row, r), group)));
          f.set(head, i32.add(i32.mul(kvHead, group), i32.remU(i32.add(row, r), group)));
          const q = i32.add(p.q, i32.shl(i32.mul(i32.add(i32.mul(token, p.heads), head), p.dK), 2));
          const at = i32.add(i32.add(packed, i32.mul(row, keyBytes)), i32.shl(r, 4));
          f.call(pack, { q, to: at, step: i32.shl(rows, 4), dK: p.dK, left: keyBytes, scale: p.scale });
        });
      });

      const [begin, until, at] = f.locals("i32", 3);
      /** Calls `body` for each tile of positions and each tile of queries. */
      const forEachPair = (
        memory: Pointer,
        rowBytes: Pointer,
        width: Expr<"i32">,
        holes: I32,
        body: (row: Pointer, rows: Pointer) => void,
      ) => {
        f.set(at, from);
        f.while(i32.ltS(at, end), () => {
          f.set(begin, i32.sub(at, from));
          const next = f.let(i32.add(at, tileKeys));
          f.set(next, i32.select(i32.ltS(next, end), next, end));
          f.set(until, i32.sub(next, from));
          f.call(gather, { from, at, end: next, to: tile, rowBytes, memory, slotBytes, width, table, blockSize, slots, holes });
          forEachTile(f, count, body);
          f.set(at, next);
        });
      };
      f.store(scratch, i32.const(0));
      const keyWidth = type === "q8_0" ? i32.shrU(keyBytes, 2) : p.dK;
      forEachPair(keys, keyBytes, keyWidth, scratch, (row, rows) => {
        f.call(kernels.scores, {
          rows,
          ranges: i32.add(ranges, i32.mul(row, rangeBytes)),
          q: i32.add(packed, i32.mul(row, keyBytes)),
          keys: tile,
          keyBytes,
          scores: i32.add(scores, i32.mul(row, scoreBytes)),
          begin,
          end: until,
        });
      });

      const [row, head, lo, seen] = f.locals("i32", 4);
      f.setI32(row, 0);
      f.while(i32.ltU(row, count), () => {
        const own = f.let(i32.add(ranges, i32.mul(row, rangeBytes)));
        f.set(lo, i32.load(own, range.from));
        const visible = f.let(i32.sub(i32.load(own, range.end), lo));
        f.set(seen, visible);
        const ownScores = f.let(i32.add(scores, i32.mul(row, scoreBytes)));
        emitHoles(f, scratch, ownScores, lo, visible, seen);
        f.set(head, i32.add(i32.mul(kvHead, group), i32.remU(row, group)));
        f.call(kernels.weights, {
          scores: i32.add(ownScores, i32.shl(lo, 2)),
          count: visible,
          seen,
          to: i32.add(to, i32.mul(row, size)),
          vectors: vectorsOf(p.dV),
          distance: i32.load(own, range.distance),
          slope: i32.select(p.slopes, i32.add(p.slopes, i32.shl(head, 2)), 0),
          bias: i32.select(p.bias, i32.add(p.bias, i32.shl(i32.add(i32.mul(head, i32.add(i32.shl(p.reach, 1), 1)), p.reach), 2)), 0),
          reach: p.reach,
          softcap: p.softcap,
        });
        f.advance(row, 1);
      });

      forEachPair(values, valueBytes, valueWidth, i32.const(0), (row, rows) => {
        f.call(kernels.values, {
          rows,
          ranges: i32.add(ranges, i32.mul(row, rangeBytes)),
          weights: i32.add(scores, i32.mul(row, scoreBytes)),
          spread: i32.add(scratch, spreadAt),
          values: i32.add(tile, i32.shl(shift, 2)),
          valueBytes,
          to: i32.add(to, i32.mul(row, size)),
          size,
          vectors: vectorsOf(p.dV),
          begin,
          end: until,
        });
      });
    });
    return { type, block };
  });
}

/** Number of vectors of `dV` values, rounded up to four. */
export function vectorsOf(dV: Pointer): I32 {
  return i32.shl(i32.shrU(i32.add(dV, 15), 4), 2);
}

/** Writes the {@link range}s of a block's queries. */
function emitRanges(
  f: FunctionBuilder,
  p: { readonly [K in keyof typeof blockSignature]: Local<(typeof blockSignature)[K]> },
  group: Pointer,
  ranges: Pointer,
): void {
  const { from, end } = p;
  const [to, lo, hi, left] = [f.let(ranges), ...f.locals("i32", 3)];
  const token = f.let(p.first);
  f.while(i32.ltU(token, p.last), () => {
    const seen = emitVisible(f, p, token, p.sequence);
    f.set(lo, i32.select(i32.gtS(seen.from, from), seen.from, from));
    f.set(hi, i32.select(i32.ltS(seen.end, end), seen.end, end));
    f.set(hi, i32.select(i32.gtS(hi, lo), hi, lo));
    f.set(left, group);
    f.while(left, () => {
      f.store(to, i32.sub(lo, from), range.from);
      f.store(to, i32.sub(hi, from), range.end);
      f.store(to, i32.sub(lo, seen.position), range.distance);
      f.advance(to, rangeBytes);
      f.advance(left, -1);
    });
    f.advance(token, 1);
  });
}

/** Hides positions without a slot. */
function emitHoles(f: FunctionBuilder, holes: Pointer, scores: Pointer, lo: Pointer, visible: Pointer, seen: Pointer): void {
  const left = f.let(i32.load(holes));
  const at = f.let(holes);
  f.while(left, () => {
    f.advance(at, 4);
    const position = f.let(i32.load(at));
    f.if(i32.ltU(i32.sub(position, lo), visible), () => {
      f.store(i32.add(scores, i32.shl(position, 2)), f32.const(Number.NEGATIVE_INFINITY));
      f.advance(seen, -1);
    });
    f.advance(left, -1);
  });
}

const packSignature = { q: "i32", to: "i32", step: "i32", dK: "i32", left: "i32", scale: "f32" } as const;

/** Emits `attention.pack`: a query times `scale` as vectors `step` bytes apart, zero-padded to `left` bytes. */
function emitPack(module: ModuleBuilder): FunctionRef<typeof packSignature, undefined> {
  return module.function("attention.pack", packSignature, (f, { q, to, step, dK, left, scale }) => {
    const factor = f.let(f32x4.splat(scale));
    f.while(left, () => {
      const value = f.let(v128.zero());
      f.if(i32.gtS(dK, 0), () => f.set(value, f32x4.mul(v128.load(q), factor)));
      f.if(i32.ltS(dK, 4), () => f.set(value, v128.and(value, laneMask(f, dK))));
      f.store(to, value);
      f.advance(q, 16);
      f.set(to, i32.add(to, step));
      f.advance(dK, -4);
      f.advance(left, -16);
    });
  });
}
