import { type FunctionBuilder, type FunctionRef, i32, type Local, type ModuleBuilder, threadIndex } from "../../emit/index.ts";
import type { Target } from "../../target.ts";
import { aligned } from "./aligned.ts";
import {
  emitFinish,
  emitMerge,
  emitRows,
  type Pointer,
  part,
  partBytes,
  type rowsSignature,
  segment,
  segmentBytes,
} from "./attentionParts.ts";
import { copyRow } from "./cacheRow.ts";

/** Element types of a cache. */
const cacheTypes = ["f32", "f16", "q8_0"] as const;

type CacheType = (typeof cacheTypes)[number];

/** Positions of a block. Blocks start at multiples of it, whoever computes them: results depend on nothing but the positions seen. */
export const keyBlock = 256;

/** Memory that a thread needs of its own, at offsets of its room. */
export function roomLayout(
  width: number,
  dV: number,
  rows: number,
): { readonly segments: number; readonly parts: number; readonly copy: number; readonly bytes: number } {
  const segments = 4 * keyBlock + 64;
  const parts = segments + segmentBytes * (keyBlock + 4);
  const copy = parts + 2 * rows * partBytes(dV);
  return { segments, parts, copy, bytes: aligned(copy + 4 * width * keyBlock + 64) };
}

const common = {
  q: "i32",
  cache: "i32",
  y: "i32",
  positions: "i32",
  seqOf: "i32",
  blockTable: "i32",
  seqLens: "i32",
  slopes: "i32",
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
  rooms: "i32",
  roomBytes: "i32",
  segments: "i32",
  parts: "i32",
  copy: "i32",
  queries: "i32",
} as const;

/** Parameters that all functions have, in order. */
export type AttentionArguments = Readonly<Record<keyof typeof common, number>>;

/** The arguments as a list. */
export function attentionArguments(values: AttentionArguments): number[] {
  return (Object.keys(common) as (keyof typeof common)[]).map((name) => values[name]);
}

/** Tokens `first` to before `last`, which are of one sequence, and one head of the cache. */
const blockSignature = {
  ...common,
  room: "i32",
  to: "i32",
  first: "i32",
  last: "i32",
  sequence: "i32",
  kvHead: "i32",
  from: "i32",
  end: "i32",
} as const;

/**
 * Emits, for caches of each type, ranges `begin` to `end` of
 * - `attention.<type>`: heads of the cache × queries, `queries` neighbouring tokens each: tokens of a head follow each other, since rows of
 *   all heads together would take turns in the first-level cache;
 * - `attention.split.<type>`: blocks of positions × heads of the cache, for one token: a {@link part} each at `parts`;
 * - `attention.join`: heads, of the parts of one token.
 */
export function emitAttention(module: ModuleBuilder, target: Target): void {
  const rows = emitRows(module, target);
  const merge = emitMerge(module, target);
  const finish = emitFinish(module, target);
  const range = { ...common, begin: "i32", end: "i32" } as const;
  const bytesOf = (dV: Pointer) => i32.add(i32.shl(i32.shrU(i32.add(dV, 3), 2), 4), part.values);

  for (const type of cacheTypes) {
    const block = emitBlock(module, type, rows);
    module.function(`attention.${type}`, range, (f, { begin, end: last, ...p }) => {
      const room = f.let(i32.add(p.rooms, i32.mul(threadIndex, p.roomBytes)));
      const size = f.let(bytesOf(p.dV));
      const group = f.let(i32.divU(p.heads, p.kvHeads));
      const [kvHead, first, end, next, stop, count] = f.locals("i32", 6) as [Pointer, Pointer, Pointer, Pointer, Pointer, Pointer];
      const [from, to, key, at, other] = f.locals("i32", 5) as [Pointer, Pointer, Pointer, Pointer, Pointer];
      const [head, token, y] = f.locals("i32", 3) as [Pointer, Pointer, Pointer];
      const parts = f.let(i32.divU(i32.sub(i32.add(p.tokens, p.queries), 1), p.queries));
      f.while(i32.ltU(begin, last), () => {
        f.set(kvHead, i32.divU(begin, parts));
        f.set(first, i32.mul(i32.remU(begin, parts), p.queries));
        f.set(stop, i32.add(first, p.queries));
        f.set(stop, i32.select(i32.ltU(stop, p.tokens), stop, p.tokens));
        f.while(i32.ltU(first, stop), () => {
          const sequence = f.let(i32.load(i32.add(p.seqOf, i32.shl(first, 2))));
          f.setI32(from, 0x7fffffff);
          f.setI32(to, 0);
          f.set(next, first);
          // Neighbours of one sequence, and what they see together.
          f.loop((again) => {
            const seen = emitVisible(f, p, next, sequence);
            f.set(from, i32.select(i32.ltS(seen.from, from), seen.from, from));
            f.set(to, i32.select(i32.gtS(seen.end, to), seen.end, to));
            f.advance(next, 1);
            f.if(i32.ltU(next, stop), () => f.brIf(again, i32.eq(i32.load(i32.add(p.seqOf, i32.shl(next, 2))), sequence)));
          });
          f.set(count, i32.mul(i32.sub(next, first), group));
          const own = f.let(i32.add(room, p.parts));
          const blockParts = f.let(i32.add(own, i32.mul(count, size)));
          f.set(key, i32.and(from, -keyBlock));
          const target = f.let(own);
          // Once at least, so that queries which see nothing have parts.
          f.loop((again) => {
            f.set(end, i32.add(key, keyBlock));
            f.call(block, {
              ...p,
              room,
              to: target,
              first,
              last: next,
              sequence,
              kvHead,
              from: i32.select(i32.gtS(from, key), from, key),
              end: i32.select(i32.ltS(to, end), to, end),
            });
            f.if(i32.ne(target, own), () => {
              f.set(at, own);
              f.set(other, blockParts);
              f.while(i32.ltU(at, blockParts), () => {
                f.call(merge, { into: at, from: other, dV: p.dV });
                f.set(at, i32.add(at, size));
                f.set(other, i32.add(other, size));
              });
            });
            f.set(target, blockParts);
            f.set(key, end);
            f.brIf(again, i32.ltS(key, to));
          });
          f.set(at, own);
          f.set(token, first);
          f.while(i32.ltU(token, next), () => {
            f.set(head, i32.mul(kvHead, group));
            const lastHead = f.let(i32.add(head, group));
            f.while(i32.ltU(head, lastHead), () => {
              f.set(y, i32.add(p.y, i32.shl(i32.mul(i32.add(i32.mul(token, p.heads), head), p.dV), 2)));
              const sink = i32.select(p.sinks, i32.add(p.sinks, i32.shl(head, 2)), 0);
              f.call(finish, { from: at, y, dV: p.dV, sink });
              f.set(at, i32.add(at, size));
              f.advance(head, 1);
            });
            f.advance(token, 1);
          });
          f.set(first, next);
        });
        f.advance(begin, 1);
      });
    });

    module.function(`attention.split.${type}`, range, (f, { begin, end: last, ...p }) => {
      const room = f.let(i32.add(p.rooms, i32.mul(threadIndex, p.roomBytes)));
      const size = f.let(bytesOf(p.dV));
      const group = f.let(i32.divU(p.heads, p.kvHeads));
      const zero = f.local("i32");
      const sequence = f.let(i32.load(p.seqOf));
      const seen = emitVisible(f, p, zero, sequence);
      f.while(i32.ltU(begin, last), () => {
        const kvHead = f.let(i32.remU(begin, p.kvHeads));
        const key = f.let(i32.divU(begin, p.kvHeads));
        const to = f.let(i32.add(p.parts, i32.mul(i32.add(i32.mul(key, p.heads), i32.mul(kvHead, group)), size)));
        f.set(key, i32.mul(key, keyBlock));
        const end = f.let(i32.add(key, keyBlock));
        f.call(block, {
          ...p,
          room,
          to,
          first: zero,
          last: i32.const(1),
          sequence,
          kvHead,
          from: i32.select(i32.gtS(seen.from, key), seen.from, key),
          end: i32.select(i32.ltS(seen.end, end), seen.end, end),
        });
        f.advance(begin, 1);
      });
    });
  }

  const joinSignature = { y: "i32", parts: "i32", heads: "i32", dV: "i32", blocks: "i32", sinks: "i32", begin: "i32", end: "i32" } as const;
  module.function("attention.join", joinSignature, (f, { y, parts, heads, dV, blocks, sinks, begin, end }) => {
    const size = f.let(bytesOf(dV));
    const stride = f.let(i32.mul(heads, size));
    const [own, at, left] = f.locals("i32", 3) as [Pointer, Pointer, Pointer];
    f.while(i32.ltU(begin, end), () => {
      f.set(own, i32.add(parts, i32.mul(begin, size)));
      f.set(at, own);
      f.set(left, i32.sub(blocks, 1));
      f.while(left, () => {
        f.set(at, i32.add(at, stride));
        f.if(i32.load(at, part.seen), () => f.call(merge, { into: own, from: at, dV }));
        f.advance(left, -1);
      });
      const to = i32.add(y, i32.shl(i32.mul(begin, dV), 2));
      f.call(finish, { from: own, y: to, dV, sink: i32.select(sinks, i32.add(sinks, i32.shl(begin, 2)), 0) });
      f.advance(begin, 1);
    });
  });
}

type Parameters = { readonly [K in keyof typeof common]: Local<(typeof common)[K]> };

/** What a token of a sequence sees, as `from <= position < end`: nothing where a table does not have it. */
function emitVisible(
  f: FunctionBuilder,
  p: Parameters,
  token: Pointer,
  sequence: Pointer,
): { readonly position: Pointer; readonly from: Pointer; readonly end: Pointer } {
  const [position, from, end] = f.locals("i32", 3) as [Pointer, Pointer, Pointer];
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

/** Emits `attention.block.<type>`: {@link part}s of the tokens and the heads of one group over positions `from` to `end` of a block. */
function emitBlock(
  module: ModuleBuilder,
  type: CacheType,
  rows: FunctionRef<typeof rowsSignature, undefined>,
): FunctionRef<typeof blockSignature, undefined> {
  return module.function(`attention.block.${type}`, blockSignature, (f, p) => {
    const { room, to, first, last, sequence, kvHead, from, end } = p;
    const group = f.let(i32.divU(p.heads, p.kvHeads));
    const width = f.let(i32.add(p.dK, p.dV));
    const headBytes = f.let(type === "f32" ? i32.shl(width, 2) : type === "f16" ? i32.shl(width, 1) : i32.mul(i32.shrU(width, 5), 34));
    const slotBytes = f.let(i32.mul(headBytes, p.kvHeads));
    const rowBytes = f.let(type === "f32" ? slotBytes : i32.shl(width, 2));
    const memory = f.let(i32.add(p.cache, i32.mul(kvHead, headBytes)));
    const segments = f.let(i32.add(room, p.segments));
    const open = f.let(segments);
    const copy = f.let(i32.add(room, p.copy));
    const [position, slot, run, inside, address] = f.locals("i32", 5) as [Pointer, Pointer, Pointer, Pointer, Pointer];
    f.set(position, from);
    f.while(i32.ltS(position, end), () => {
      const tableBlock = f.let(i32.divU(position, p.blockSize));
      const entry = i32.add(p.blockTable, i32.shl(i32.add(i32.mul(sequence, p.maxBlocks), tableBlock), 2));
      f.set(slot, i32.add(i32.mul(i32.load(entry), p.blockSize), i32.remU(position, p.blockSize)));
      f.set(run, i32.mul(i32.add(tableBlock, 1), p.blockSize));
      f.set(run, i32.sub(i32.select(i32.ltS(run, end), run, end), position));
      f.set(inside, i32.sub(p.slots, slot));
      f.set(inside, i32.select(i32.ltS(inside, run), inside, run));
      f.if(i32.and(i32.geS(slot, 0), i32.gtS(inside, 0)), () => {
        f.set(address, i32.add(memory, i32.mul(slot, slotBytes)));
        const row = type === "f32" ? address : copy;
        const before = i32.sub(open, segmentBytes);
        const lastCount = i32.load(before, segment.count);
        const isNext = i32.and(
          i32.eq(i32.add(i32.loadAddress(before, segment.row), i32.mul(lastCount, rowBytes)), row),
          i32.eq(i32.add(i32.load(before, segment.position), lastCount), position),
        );
        const joins = f.let(i32.ne(open, segments));
        f.if(joins, () => f.set(joins, isNext));
        f.if(
          joins,
          () => f.store(before, i32.add(lastCount, inside), segment.count),
          () => {
            f.storeAddress(open, row, segment.row);
            f.store(open, position, segment.position);
            f.store(open, inside, segment.count);
            f.advance(open, segmentBytes);
          },
        );
        if (type !== "f32") {
          f.while(inside, () => {
            copyRow(f, type, address, copy, width);
            f.set(copy, i32.add(copy, rowBytes));
            f.set(address, i32.add(address, slotBytes));
            f.advance(inside, -1);
          });
        }
      });
      f.set(position, i32.add(position, run));
    });

    const size = f.let(i32.add(i32.shl(i32.shrU(i32.add(p.dV, 3), 2), 4), part.values));
    const token = f.let(first);
    const [lo, hi, head, query] = f.locals("i32", 4) as [Pointer, Pointer, Pointer, Pointer];
    f.while(i32.ltU(token, last), () => {
      const seen = emitVisible(f, p, token, sequence);
      f.set(lo, i32.select(i32.gtS(seen.from, from), seen.from, from));
      f.set(hi, i32.select(i32.ltS(seen.end, end), seen.end, end));
      f.set(head, i32.mul(kvHead, group));
      const lastHead = f.let(i32.add(head, group));
      f.while(i32.ltU(head, lastHead), () => {
        f.set(query, i32.add(p.q, i32.shl(i32.mul(i32.add(i32.mul(token, p.heads), head), p.dK), 2)));
        f.call(rows, {
          q: query,
          to,
          scores: room,
          segments,
          segmentsEnd: open,
          from: lo,
          end: hi,
          position: seen.position,
          dK: p.dK,
          dV: p.dV,
          rowBytes,
          slope: i32.select(p.slopes, i32.add(p.slopes, i32.shl(head, 2)), 0),
          scale: p.scale,
          softcap: p.softcap,
        });
        f.set(to, i32.add(to, size));
        f.advance(head, 1);
      });
      f.advance(token, 1);
    });
  });
}
