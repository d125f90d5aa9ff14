import {
  type Expr,
  type FunctionBuilder,
  type FunctionRef,
  f32,
  f32x4,
  i32,
  type Local,
  type ModuleBuilder,
  type Params,
  v128,
} from "../../emit/index.ts";
import { laneMask } from "../../matmul/lanes.ts";
import type { Target } from "../../target.ts";
import { addressBytes, type CacheType, emitGather, emitRows, emitTouch, isWhole, splitScale } from "./cacheRow.ts";
import { emitEvenOdd, emitHalfScores, emitHalfValues, emitInOrder, forLead, leadOf } from "./halves.ts";
import { blockSignature, emitRanges, listAt, rangesAt, vectorsOf } from "./layout.ts";
import { emitWeights, type Pointer, part } from "./parts.ts";
import { emitScores, emitValues, forEachTile, range, rangeBytes, scoreBytes, tileKeys } from "./tiles.ts";

type I32 = Expr<"i32">;

/** Elements of a cache row are copied in steps of this size. */
const rowStep = { f32: 16, f16: 16, q8_0: 32 } as const;

export type Block = FunctionRef<typeof blockSignature, undefined>;

/** The block function of a cache type. */
export interface TypedBlock {
  readonly type: CacheType;
  readonly block: Block;
}

/** Powers of two by which queries and weights make up for {@link splitScale}. Products of queries stay far from the ends of f32. */
const queryScale = 2 ** 60;
const scoreUnit = 1 / (queryScale * splitScale);
const weightUnit = 1 / splitScale;

/**
 * Emits `attention.block.<type>` for each cache type: {@link part}s of the tokens and heads of one group, over
 * positions `from` to `end` of a block. Keys, and then values, are gathered tile by tile and used by all queries of the
 * group, which share the conversion. In between, scores wait for the block's largest one. Whole rows of halves are
 * split; for one token, the first tile of queries converts them itself.
 */
export function emitBlocks(module: ModuleBuilder, target: Target, types: readonly CacheType[]): readonly TypedBlock[] {
  const functions = emitFunctions(module, target);
  return types.map((type) => {
    const gather = emitGather(module, type);
    const block = module.function(`attention.block.${type}`, blockSignature, (f, p) => {
      const body: Body = { f, p, type, functions, gather, ...emitPlaces(f, p, type) };
      emitList(body);
      const unit = emitQueries(body);
      const tile = emitTile(f);
      emitKeys(body, unit, tile);
      emitAllWeights(body, unit);
      emitSums(body, tile);
    });
    return { type, block };
  });
}

/** Functions that blocks of all cache types call. */
function emitFunctions(module: ModuleBuilder, target: Target) {
  const kernels = { scores: emitScores(module, target), weights: emitWeights(module, target), values: emitValues(module, target) };
  const halves = { scores: emitHalfScores(module, target), values: emitHalfValues(module, target) };
  const pack = emitPack(module);
  const [evenOdd, inOrder] = [emitEvenOdd(module), emitInOrder(module)];
  const [listRows, touch] = [emitRows(module), emitTouch(module)];
  return { kernels, halves, pack, evenOdd, inOrder, listRows, touch };
}

/** What all steps of a block function read. */
interface Body extends ReturnType<typeof emitPlaces> {
  readonly f: FunctionBuilder;
  readonly p: Params<typeof blockSignature>;
  readonly type: CacheType;
  readonly functions: ReturnType<typeof emitFunctions>;
  readonly gather: ReturnType<typeof emitGather>;
}

/** Bytes of elements of a cache row. */
function cacheBytes(type: CacheType, elements: I32): I32 {
  return type === "q8_0" ? i32.mul(i32.shrU(elements, 5), 34) : i32.shl(elements, type === "f32" ? 2 : 1);
}

/** Sizes of a block and places in scratch memory. */
function emitPlaces(f: FunctionBuilder, p: Params<typeof blockSignature>, type: CacheType) {
  const { scratch, first, last } = p;
  const group = f.let(i32.divU(p.heads, p.kvHeads));
  /** Queries: tokens times heads of the group. */
  const count = f.let(i32.mul(i32.sub(last, first), group));
  const paddedBytes = (n: I32): I32 => i32.shl(i32.and(i32.add(n, rowStep[type] - 1), -rowStep[type]), 2);
  const keyBytes = f.let(paddedBytes(p.dK));
  // A block of q8_0 may span keys and values: values are copied from the start of their first block.
  const shift = f.let(type === "q8_0" ? i32.and(p.dK, 31) : i32.const(0));
  const valueWidth = f.let(i32.add(p.dV, shift));
  const valueBytes = f.let(paddedBytes(valueWidth));
  const headBytes = f.let(cacheBytes(type, i32.add(p.dK, p.dV)));
  const slotBytes = f.let(i32.mul(headBytes, p.kvHeads));
  const [ranges, packed] = [f.let(i32.add(scratch, rangesAt)), f.let(i32.add(scratch, p.packed))];
  const [scores, tile] = [f.let(i32.add(scratch, p.scores)), f.let(i32.add(scratch, p.tile))];
  const size = f.let(i32.add(i32.shl(vectorsOf(p.dV), 4), part.values));
  const isSplit = (width: Pointer): Local<"i32"> => f.let(type === "f16" ? isWhole(type, width) : i32.const(0));
  const [splitKeys, splitValues] = [isSplit(p.dK), isSplit(p.dV)];
  /** Queries of the first tile if it converts halves itself, else 0. */
  const lead = f.let(i32.const(0));
  if (type === "f16") {
    f.if(i32.and(i32.eq(i32.sub(last, first), 1), i32.and(splitKeys, splitValues)), () => f.set(lead, leadOf(count)));
  }
  emitRanges(f, p, group, ranges);
  const list = f.let(i32.add(scratch, listAt));
  const columns = { keyBytes, shift, valueWidth, valueBytes, headBytes, slotBytes, splitKeys, splitValues };
  return { group, count, ...columns, ranges, packed, scores, tile, size, lead, list };
}

/** Lists the addresses of the block's rows of the cache, and prefetches them. */
function emitList({ f, p, functions, list, headBytes, slotBytes, tile }: Body): void {
  const { scratch, from, end, blockSize, slots } = p;
  const memory = i32.add(p.cache, i32.mul(p.kvHead, headBytes));
  const table = i32.add(p.blockTable, i32.shl(i32.mul(p.sequence, p.maxBlocks), 2));
  const zeros = i32.add(scratch, p.zeros);
  f.call(functions.listRows, { at: from, end, memory, slotBytes, headBytes, table, blockSize, slots, list, holes: scratch, zeros });
  f.if(i32.ltS(from, end), () => {
    f.store(tile, f.invoke(functions.touch, { list, count: i32.sub(end, from), bytes: i32.mul(p.touched, headBytes) }));
  });
}

/** The address of a factor, which takes no register while it is not used. */
function factorAt(f: FunctionBuilder, value: number): number {
  return f.data(new Uint8Array(new Float32Array([value]).buffer));
}

/** Packs the queries by tiles. Gives the address of the factor of their scores. */
function emitQueries({ f, p, functions, group, count, keyBytes, packed, splitKeys, lead }: Body): Local<"i32"> {
  const factor = f.let(p.scale);
  f.if(splitKeys, () => f.set(factor, f32.mul(factor, f32.const(queryScale))));
  const unit = f.let(i32.select(splitKeys, factorAt(f, scoreUnit), factorAt(f, 1)));
  const none = f.let(i32.const(0));
  forEachTile(f, count, lead, none, (row, rows) => {
    const [r, token, head] = f.locals("i32", 3);
    const step = f.let(i32.shl(rows, 4));
    f.for(r, 0, rows, 1, () => {
      f.set(token, i32.add(p.first, i32.divU(i32.add(row, r), group)));
      f.set(head, i32.add(i32.mul(p.kvHead, group), i32.remU(i32.add(row, r), group)));
      const q = i32.add(p.q, i32.shl(i32.mul(i32.add(i32.mul(token, p.heads), head), p.dK), 2));
      const at = f.let(i32.add(i32.add(packed, i32.mul(row, keyBytes)), i32.shl(r, 4)));
      f.call(functions.pack, { q, to: at, step, dK: p.dK, left: keyBytes, scale: factor });
      f.if(splitKeys, () => f.call(functions.evenOdd, { at, step, end: i32.add(at, i32.mul(rows, keyBytes)) }));
    });
  });
  return unit;
}

/** A tile of positions, counted from the block's first one. */
interface PositionTile {
  readonly begin: Local<"i32">;
  readonly until: Local<"i32">;
  readonly at: Local<"i32">;
  /** The first query that the tile has not served. */
  readonly start: Local<"i32">;
  /** Whether it has halves that are not finite. */
  readonly wrong: Local<"i32">;
}

function emitTile(f: FunctionBuilder): PositionTile {
  const [begin, until, at, start, wrong] = f.locals("i32", 5);
  return { begin, until, at, start, wrong };
}

/** Keys or values of the cache, and what is done with them. */
interface Columns {
  /** Where they begin in a head's row of the cache, in bytes. */
  readonly offset: I32;
  /** Bytes of a row as f32. */
  readonly rowBytes: Pointer;
  /** Elements of a row. */
  readonly width: I32;
  /** Does the work of the first tile of queries on rows of halves. */
  readonly convert: (list: Pointer, rows: Pointer) => void;
  /** If some of them are not finite, prepares for all tiles of queries once more. */
  readonly restart: () => void;
  /** Does the work of a tile of queries on rows of f32. */
  readonly body: (row: Pointer, rows: Pointer) => void;
}

/** Visits each tile of positions with each tile of queries. */
function emitPairs(block: Body, { begin, until, at, start, wrong }: PositionTile, columns: Columns): void {
  const { f, p, type, count, lead, list, tile } = block;
  const { offset, rowBytes, width } = columns;
  f.set(start, lead);
  f.loop((again) => {
    f.setI32(wrong, 0);
    f.set(at, p.from);
    f.while(i32.ltS(at, p.end), () => {
      f.set(begin, i32.sub(at, p.from));
      const next = f.let(i32.add(at, tileKeys));
      f.set(next, i32.select(i32.ltS(next, p.end), next, p.end));
      f.set(until, i32.sub(next, p.from));
      const rows = f.let(i32.sub(until, begin));
      const own = f.let(i32.add(list, i32.mul(begin, addressBytes)));
      const copy = (): void => f.call(block.gather, { list: own, count: rows, offset, to: tile, rowBytes, width });
      if (type === "f16") f.if(start, () => columns.convert(own, rows), copy);
      else copy();
      forEachTile(f, count, lead, start, columns.body);
      f.set(at, next);
    });
    if (type === "f16") {
      f.if(wrong, () => {
        columns.restart();
        f.setI32(start, 0);
        f.br(again);
      });
    }
  });
}

/** Scores of all queries and keys. */
function emitKeys(body: Body, unit: Pointer, positions: PositionTile): void {
  const { f, p, type, functions, count, keyBytes, ranges, packed, scores, tile } = body;
  const { begin, until, wrong } = positions;
  emitPairs(body, positions, {
    offset: i32.const(0),
    rowBytes: keyBytes,
    width: type === "q8_0" ? i32.shrU(keyBytes, 2) : p.dK,
    convert: (list, rows) =>
      forLead(f, functions.halves.scores, count, (fn) => {
        const own = { list, offset: i32.const(0), q: packed, keyBytes, tile };
        const result = f.invoke(fn, { ...own, scores: i32.add(scores, i32.shl(begin, 2)), unit, count: rows });
        f.set(wrong, i32.or(wrong, result));
      }),
    restart: () => {},
    body: (row, rows) => {
      f.call(functions.kernels.scores, {
        rows,
        ranges: i32.add(ranges, i32.mul(row, rangeBytes)),
        q: i32.add(packed, i32.mul(row, keyBytes)),
        keys: tile,
        keyBytes,
        scores: i32.add(scores, i32.mul(row, scoreBytes)),
        unit,
        begin,
        end: until,
      });
    },
  });
}

/** Turns the scores of each query into weights. */
function emitAllWeights({ f, p, functions, group, count, ranges, scores, size, splitValues }: Body, unit: Local<"i32">): void {
  const [row, head, lo, seen] = f.locals("i32", 4);
  f.set(unit, i32.select(splitValues, factorAt(f, weightUnit), factorAt(f, 1)));
  f.setI32(row, 0);
  f.while(i32.ltU(row, count), () => {
    const own = f.let(i32.add(ranges, i32.mul(row, rangeBytes)));
    f.set(lo, i32.load(own, range.from));
    const visible = f.let(i32.sub(i32.load(own, range.end), lo));
    f.set(seen, visible);
    const ownScores = f.let(i32.add(scores, i32.mul(row, scoreBytes)));
    emitHoles(f, p.scratch, ownScores, lo, visible, seen);
    f.set(head, i32.add(i32.mul(p.kvHead, group), i32.remU(row, group)));
    f.call(functions.kernels.weights, {
      scores: i32.add(ownScores, i32.shl(lo, 2)),
      count: visible,
      seen,
      to: i32.add(p.to, i32.mul(row, size)),
      vectors: vectorsOf(p.dV),
      distance: i32.load(own, range.distance),
      slope: i32.select(p.slopes, i32.add(p.slopes, i32.shl(head, 2)), 0),
      bias: i32.select(p.bias, i32.add(p.bias, i32.shl(i32.add(i32.mul(head, i32.add(i32.shl(p.reach, 1), 1)), p.reach), 2)), 0),
      reach: p.reach,
      softcap: p.softcap,
      unit,
    });
    f.advance(row, 1);
  });
}

/** Sums of all values by their weights. */
function emitSums(body: Body, positions: PositionTile): void {
  const { f, p, type, functions, count, shift, valueWidth, valueBytes, splitValues, ranges, scores, tile, size } = body;
  const { begin, until, wrong } = positions;
  const forEachPart = (visit: (values: Pointer, bytes: I32) => void): void => {
    const [left, values] = [f.let(count), f.let(i32.add(p.to, part.values))];
    f.while(left, () => {
      visit(values, i32.shl(vectorsOf(p.dV), 4));
      f.set(values, i32.add(values, size));
      f.advance(left, -1);
    });
  };
  const offset = f.let(cacheBytes(type, p.dK));
  emitPairs(body, positions, {
    offset,
    rowBytes: valueBytes,
    width: valueWidth,
    convert: (list, rows) =>
      forLead(f, functions.halves.values, count, (fn) => {
        const own = { list, offset, tile, valueBytes, to: p.to, size, vectors: vectorsOf(p.dV) };
        const result = f.invoke(fn, { ...own, weights: i32.add(scores, i32.shl(begin, 2)), count: rows });
        f.set(wrong, i32.or(wrong, result));
      }),
    restart: () => forEachPart((values, bytes) => f.memoryFill(values, 0, bytes)),
    body: (row, rows) => {
      f.call(functions.kernels.values, {
        rows,
        ranges: i32.add(ranges, i32.mul(row, rangeBytes)),
        weights: i32.add(scores, i32.mul(row, scoreBytes)),
        values: i32.add(tile, i32.shl(shift, 2)),
        valueBytes,
        to: i32.add(p.to, i32.mul(row, size)),
        size,
        vectors: vectorsOf(p.dV),
        begin,
        end: until,
      });
    },
  });
  f.if(splitValues, () => forEachPart((at, bytes) => f.call(functions.inOrder, { at, step: i32.const(16), end: i32.add(at, bytes) })));
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
