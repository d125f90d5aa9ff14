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
import { emitEvenOdd, emitHalfScores, emitHalfValues, emitInOrder, forLead, leadOf } from "./attentionHalves.ts";
import { blockSignature, emitRanges, listAt, rangesAt, vectorsOf } from "./attentionLayout.ts";
import { emitWeights, type Pointer, part } from "./attentionParts.ts";
import { emitScores, emitValues, forEachTile, range, rangeBytes, scoreBytes, tileKeys } from "./attentionTiles.ts";
import { addressBytes, type CacheType, emitGather, emitRows, emitTouch, isWhole, splitScale } from "./cacheRow.ts";

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
  const kernels = { scores: emitScores(module, target), weights: emitWeights(module, target), values: emitValues(module, target) };
  const halves = { scores: emitHalfScores(module, target), values: emitHalfValues(module, target) };
  const pack = emitPack(module);
  const [evenOdd, inOrder] = [emitEvenOdd(module), emitInOrder(module)];
  const [listRows, touch] = [emitRows(module), emitTouch(module)];
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
      const memory = i32.add(p.cache, i32.mul(kvHead, headBytes));
      const table = i32.add(p.blockTable, i32.shl(i32.mul(sequence, p.maxBlocks), 2));
      const [ranges, packed] = [f.let(i32.add(scratch, rangesAt)), f.let(i32.add(scratch, p.packed))];
      const [scores, tile] = [f.let(i32.add(scratch, p.scores)), f.let(i32.add(scratch, p.tile))];
      const size = f.let(i32.add(i32.shl(vectorsOf(p.dV), 4), part.values));
      const isSplit = (width: Pointer): Local<"i32"> => f.let(type === "f16" ? isWhole(type, width) : i32.const(0));
      const [splitKeys, splitValues] = [isSplit(p.dK), isSplit(p.dV)];
      const lead = f.let(i32.const(0));
      if (type === "f16") {
        f.if(i32.and(i32.eq(i32.sub(last, first), 1), i32.and(splitKeys, splitValues)), () => f.set(lead, leadOf(count)));
      }

      emitRanges(f, p, group, ranges);
      const list = f.let(i32.add(scratch, listAt));
      const { blockSize, slots } = p;
      const zeros = i32.add(scratch, p.zeros);
      f.call(listRows, { at: from, end, memory, slotBytes, headBytes, table, blockSize, slots, list, holes: scratch, zeros });
      f.if(i32.ltS(from, end), () => {
        f.store(tile, f.invoke(touch, { list, count: i32.sub(end, from), bytes: i32.mul(p.touched, headBytes) }));
      });
      const factor = f.let(p.scale);
      f.if(splitKeys, () => f.set(factor, f32.mul(factor, f32.const(queryScale))));
      /** The address of a factor, which takes no register while it is not used. */
      const factorAt = (value: number): number => f.data(new Uint8Array(new Float32Array([value]).buffer));
      const unit = f.let(i32.select(splitKeys, factorAt(scoreUnit), factorAt(1)));
      const none = f.let(i32.const(0));
      forEachTile(f, count, lead, none, (row, rows) => {
        const [r, token, head] = f.locals("i32", 3);
        const step = f.let(i32.shl(rows, 4));
        f.for(r, 0, rows, 1, () => {
          f.set(token, i32.add(first, i32.divU(i32.add(row, r), group)));
          f.set(head, i32.add(i32.mul(kvHead, group), i32.remU(i32.add(row, r), group)));
          const q = i32.add(p.q, i32.shl(i32.mul(i32.add(i32.mul(token, p.heads), head), p.dK), 2));
          const at = f.let(i32.add(i32.add(packed, i32.mul(row, keyBytes)), i32.shl(r, 4)));
          f.call(pack, { q, to: at, step, dK: p.dK, left: keyBytes, scale: factor });
          f.if(splitKeys, () => f.call(evenOdd, { at, step, end: i32.add(at, i32.mul(rows, keyBytes)) }));
        });
      });

      const [begin, until, at, start, wrong] = f.locals("i32", 5);
      /**
       * Calls `body` for each tile of positions and each tile of queries. `convert` does the work of the first tile of
       * queries on rows of halves. If some are not finite, `restart` prepares for all tiles of queries once more.
       */
      const forEachPair = (
        offset: I32,
        rowBytes: Pointer,
        width: Expr<"i32">,
        convert: (list: Pointer, rows: Pointer) => void,
        restart: () => void,
        body: (row: Pointer, rows: Pointer) => void,
      ) => {
        f.set(start, lead);
        f.loop((again) => {
          f.setI32(wrong, 0);
          f.set(at, from);
          f.while(i32.ltS(at, end), () => {
            f.set(begin, i32.sub(at, from));
            const next = f.let(i32.add(at, tileKeys));
            f.set(next, i32.select(i32.ltS(next, end), next, end));
            f.set(until, i32.sub(next, from));
            const rows = f.let(i32.sub(until, begin));
            const own = f.let(i32.add(list, i32.mul(begin, addressBytes)));
            const copy = (): void => f.call(gather, { list: own, count: rows, offset, to: tile, rowBytes, width });
            if (type === "f16") f.if(start, () => convert(own, rows), copy);
            else copy();
            forEachTile(f, count, lead, start, body);
            f.set(at, next);
          });
          if (type === "f16") {
            f.if(wrong, () => {
              restart();
              f.setI32(start, 0);
              f.br(again);
            });
          }
        });
      };
      const keyWidth = type === "q8_0" ? i32.shrU(keyBytes, 2) : p.dK;
      forEachPair(
        i32.const(0),
        keyBytes,
        keyWidth,
        (rowList, rows) =>
          forLead(f, halves.scores, count, (fn) => {
            const own = { list: rowList, offset: i32.const(0), q: packed, keyBytes, tile };
            const result = f.invoke(fn, { ...own, scores: i32.add(scores, i32.shl(begin, 2)), unit, count: rows });
            f.set(wrong, i32.or(wrong, result));
          }),
        () => {},
        (row, rows) => {
          f.call(kernels.scores, {
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
      );

      const [row, head, lo, seen] = f.locals("i32", 4);
      f.set(unit, i32.select(splitValues, factorAt(weightUnit), factorAt(1)));
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
          unit,
        });
        f.advance(row, 1);
      });

      const forEachPart = (body: (values: Pointer, bytes: I32) => void): void => {
        const [left, values] = [f.let(count), f.let(i32.add(to, part.values))];
        f.while(left, () => {
          body(values, i32.shl(vectorsOf(p.dV), 4));
          f.set(values, i32.add(values, size));
          f.advance(left, -1);
        });
      };
      const valuesOffset = f.let(bytesOf(p.dK));
      forEachPair(
        valuesOffset,
        valueBytes,
        valueWidth,
        (rowList, rows) =>
          forLead(f, halves.values, count, (fn) => {
            const own = { list: rowList, offset: valuesOffset, tile, valueBytes, to, size, vectors: vectorsOf(p.dV) };
            const result = f.invoke(fn, { ...own, weights: i32.add(scores, i32.shl(begin, 2)), count: rows });
            f.set(wrong, i32.or(wrong, result));
          }),
        () => forEachPart((values, bytes) => f.memoryFill(values, 0, bytes)),
        (row, rows) => {
          f.call(kernels.values, {
            rows,
            ranges: i32.add(ranges, i32.mul(row, rangeBytes)),
            weights: i32.add(scores, i32.mul(row, scoreBytes)),
            values: i32.add(tile, i32.shl(shift, 2)),
            valueBytes,
            to: i32.add(to, i32.mul(row, size)),
            size,
            vectors: vectorsOf(p.dV),
            begin,
            end: until,
          });
        },
      );
      f.if(splitValues, () => forEachPart((at, bytes) => f.call(inOrder, { at, step: i32.const(16), end: i32.add(at, bytes) })));
    });
    return { type, block };
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
