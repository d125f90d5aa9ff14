import {
  type FunctionBuilder,
  type FunctionRef,
  f32,
  f32x4,
  f64,
  f64x2,
  i32,
  i32x4,
  type Local,
  type ModuleBuilder,
  threadIndex,
  type V128,
  v128,
} from "../../emit/index.ts";
import { loadHalves } from "../../formats/half.ts";
import { exp } from "../../math/exp.ts";
import { tanh } from "../../math/tanh.ts";
import { laneMask, laneSums, largestLane } from "../../matmul/lanes.ts";
import { memoryMap } from "../../memoryMap.ts";
import { madd, type Target } from "../../target.ts";
import { storeLanes } from "./loops.ts";
import { addPairs } from "./sum.ts";

/** Element types of a cache. */
export const cacheTypes = ["f32", "f16", "q8_0"] as const;

type CacheType = (typeof cacheTypes)[number];

/** Positions of a block. Blocks start at multiples of it, whoever computes them: results depend on nothing but the positions seen. */
export const keyBlock = 256;

type Pointer = Local<"i32">;

/** Vectors of the output that are summed at once. */
const valueVectors = 8;

/**
 * What a query sees of some positions: the largest score f32, the number of positions i32, the sum of the weights `exp(score - largest)`
 * f64, and the sum of the weighted values f32.
 */
const part = { largest: 0, seen: 4, sum: 8, values: 16 } as const;

/** Bytes of a {@link part} of so many values; whole vectors. */
export function partBytes(dV: number): number {
  return part.values + 16 * Math.ceil(dV / 4);
}

/** i32 fields of a segment, rows of neighbouring positions in memory: address of the first row, its position, number of rows. */
const segmentBytes = 12;

const rowsSignature = {
  q: "i32",
  to: "i32",
  scores: "i32",
  segments: "i32",
  segmentsEnd: "i32",
  from: "i32",
  end: "i32",
  position: "i32",
  dK: "i32",
  dV: "i32",
  rowBytes: "i32",
  slope: "i32",
  scale: "f32",
  softcap: "f32",
} as const;

/**
 * Emits `attention.rows`: one query of one head over the positions of `segments` from `from` to before `end`, as a {@link part} at `to`.
 * Scores go to `scores`, in order of position. What is summed, and in which order, depends on nothing but these positions.
 */
function emitRows(module: ModuleBuilder, target: Target): FunctionRef<typeof rowsSignature, undefined> {
  return module.function("attention.rows", rowsSignature, (f, p) => {
    const { scores, dK, dV } = p;
    const [slot, left, offset, count, to] = f.locals("i32", 5) as [Pointer, Pointer, Pointer, Pointer, Pointer];
    const seen = f.local("i32");
    const largest = f.let(f.splat(Number.NEGATIVE_INFINITY));
    const scaleVector = f.let(f32x4.splat(p.scale));
    const softcap = f.let(f32x4.splat(p.softcap));

    /** Scale, soft cap and position bias of four scores of neighbouring positions. */
    const finishScores = (dots: V128): Local<"v128"> => {
      const score = f.let(f32x4.mul(dots, scaleVector));
      f.if(f32.gt(p.softcap, f32.const(0)), () => f.set(score, f32x4.mul(softcap, tanh(f, target, f32x4.div(score, softcap)))));
      f.if(p.slope, () => {
        const steps = f.pooled(new Uint8Array(new Int32Array([0, 1, 2, 3]).buffer));
        const distance = f32x4.fromI32x4(i32x4.add(i32x4.splat(offset), steps));
        f.set(score, f32x4.add(score, f32x4.mul(v128.load32Splat(p.slope), distance)));
      });
      return score;
    };

    /** Dot products of the query with `rows` neighbouring keys. */
    const dots = (rows: 1 | 4): Local<"v128"> => {
      const keys = f.locals("i32", rows);
      const sums = f.locals("v128", rows);
      const at = f.let(p.q);
      const quad = f.local("v128");
      keys.forEach((key, row) => void f.set(key, row === 0 ? slot : i32.add(slot, i32.mul(row, p.rowBytes))));
      for (const sum of sums) f.set(sum, v128.zero());
      const step = (vectors: number, mask?: Local<"v128">): void => {
        for (let vector = 0; vector < vectors; vector++) {
          const x = v128.load(at, 16 * vector);
          f.set(quad, mask === undefined ? x : v128.and(x, mask));
          keys.forEach((key, row) => {
            const k = v128.load(key, 16 * vector);
            f.set(sums[row]!, madd(target, mask === undefined ? k : v128.and(k, mask), quad, sums[row]!));
          });
        }
        f.advance(at, 16 * vectors);
        for (const key of keys) f.advance(key, 16 * vectors);
        f.advance(left, -4 * vectors);
      };
      f.set(left, dK);
      f.while(i32.geU(left, 16), () => step(4));
      f.while(i32.geU(left, 4), () => step(1));
      f.if(left, () => step(1, laneMask(f, left)));
      const [s0, s1 = s0!, s2 = s0!, s3 = s0!] = sums;
      return laneSums(f, [s0!, s1, s2, s3]);
    };

    /** `slot`, `offset` and `count` are those of the rows that the query sees of a segment. */
    const forEachSegment = (body: () => void): void => {
      const segment = f.let(p.segments);
      f.set(to, scores);
      f.while(i32.ltU(segment, p.segmentsEnd), () => {
        const position = f.let(i32.load(segment, 4));
        const first = f.let(i32.select(i32.gtS(p.from, position), p.from, position));
        const last = f.let(i32.add(position, i32.load(segment, 8)));
        f.set(last, i32.select(i32.ltS(p.end, last), p.end, last));
        f.if(i32.ltS(first, last), () => {
          f.set(slot, i32.add(i32.load(segment), i32.mul(i32.sub(first, position), p.rowBytes)));
          f.set(offset, i32.sub(first, p.position));
          f.set(count, i32.sub(last, first));
          body();
        });
        f.advance(segment, segmentBytes);
      });
    };

    forEachSegment(() => {
      const take = (rows: 1 | 4): void => {
        const score = finishScores(dots(rows));
        if (rows === 1) f.set(score, f32x4.shuffle(score, score, [0, 0, 0, 0]));
        if (rows === 1) f.store32Lane(to, score, 0);
        else f.store(to, score);
        f.set(largest, f32x4.pmax(largest, score));
        f.advance(to, 4 * rows);
        f.advance(slot, i32.mul(p.rowBytes, rows));
        f.advance(offset, rows);
        f.advance(count, -rows);
      };
      f.while(i32.geU(count, 4), () => take(4));
      f.while(count, () => take(1));
    });
    f.set(seen, i32.shrU(i32.sub(to, scores), 2));
    const m = largestLane(f, largest);
    f.store32Lane(p.to, m, 0, part.largest);
    f.store(p.to, seen, part.seen);
    f.store(p.to, weights(f, target, scores, seen, m), part.sum);

    const output = f.let(i32.add(p.to, part.values));
    const column = f.let(i32.shl(dK, 2));
    const columns = f.let(dV);
    const sumValues = (vectors: number): void => {
      const sums = f.locals("v128", vectors);
      const p4 = f.local("v128");
      const at = f.local("i32");
      for (const sum of sums) f.set(sum, v128.zero());
      forEachSegment(() => {
        f.set(at, i32.add(slot, column));
        f.while(count, () => {
          f.set(p4, v128.load32Splat(to));
          sums.forEach((sum, i) => void f.set(sum, madd(target, v128.load(at, 16 * i), p4, sum)));
          f.advance(at, p.rowBytes);
          f.advance(to, 4);
          f.advance(count, -1);
        });
      });
      sums.forEach((sum, i) => void f.store(output, sum, 16 * i));
      f.advance(output, 16 * vectors);
      f.advance(column, 16 * vectors);
    };
    f.while(i32.geU(columns, 4 * valueVectors), () => {
      sumValues(valueVectors);
      f.advance(columns, -4 * valueVectors);
    });
    f.while(columns, () => {
      sumValues(1);
      f.set(columns, i32.select(i32.gtU(columns, 4), i32.sub(columns, 4), 0));
    });
  });
}

/** Turns scores into `exp(score - m)` in place and returns their sum. */
function weights(f: FunctionBuilder, target: Target, scores: Pointer, seen: Pointer, m: Local<"v128">): Local<"f64"> {
  const at = f.let(scores);
  const left = f.let(seen);
  const sums = [f.let(v128.zero()), f.let(v128.zero())];
  // Weights that could only make subnormal products are zeros: processors take a hundred cycles for those.
  const weight = (): Local<"v128"> => {
    const exponent = f.let(f32x4.sub(v128.load(at), m));
    return f.let(v128.andnot(exp(f, target, exponent), f32x4.lt(exponent, f.splat(-60))));
  };
  f.while(i32.geU(left, 4), () => {
    const e = weight();
    f.store(at, e);
    addPairs(f, sums, e);
    f.advance(at, 16);
    f.advance(left, -4);
  });
  f.if(left, () => {
    const e = weight();
    storeLanes(f, at, e, left);
    addPairs(f, sums, v128.and(e, laneMask(f, left)));
  });
  const total = f.let(f64x2.add(sums[0]!, sums[1]!));
  return f.let(f64.add(f64x2.extract(total, 0), f64x2.extract(total, 1)));
}

const mergeSignature = { into: "i32", from: "i32", dV: "i32" } as const;

/** Emits `attention.merge`: adds the {@link part} of later positions to the part of earlier ones. */
function emitMerge(module: ModuleBuilder, target: Target): FunctionRef<typeof mergeSignature, undefined> {
  return module.function("attention.merge", mergeSignature, (f, { into, from, dV }) => {
    const [a, b] = [f.let(v128.load32Splat(into, part.largest)), f.let(v128.load32Splat(from, part.largest))];
    const m = f.let(f32x4.pmax(a, b));
    /** What a part's values count against the larger maximum: 0 where it has none. */
    const factor = (own: Local<"v128">, at: Pointer): Local<"v128"> => {
      const result = f.let(v128.zero());
      f.if(i32.load(at, part.seen), () => {
        const exponent = f.let(f32x4.sub(own, m));
        f.set(result, v128.andnot(exp(f, target, exponent), f32x4.lt(exponent, f.splat(-60))));
      });
      return result;
    };
    const [x, y] = [factor(a, into), factor(b, from)];
    const scaled = (at: Pointer, by: Local<"v128">) => f64.mul(f64.load(at, part.sum), f64.fromF32(f32x4.extract(by, 0)));
    f.store(into, f64.add(scaled(into, x), scaled(from, y)), part.sum);
    f.store32Lane(into, m, 0, part.largest);
    f.store(into, i32.add(i32.load(into, part.seen), i32.load(from, part.seen)), part.seen);
    f.while(dV, () => {
      const kept = f32x4.mul(v128.load(into, part.values), x);
      f.store(into, madd(target, v128.load(from, part.values), y, kept), part.values);
      f.advance(into, 16);
      f.advance(from, 16);
      f.set(dV, i32.select(i32.gtU(dV, 4), i32.sub(dV, 4), 0));
    });
  });
}

const finishSignature = { from: "i32", y: "i32", dV: "i32", sink: "i32" } as const;

/** Emits `attention.finish`: the values of a {@link part} over its sum, 0 where it saw nothing. `sink` may be 0. */
function emitFinish(module: ModuleBuilder, target: Target): FunctionRef<typeof finishSignature, undefined> {
  return module.function("attention.finish", finishSignature, (f, { from, y, dV, sink }) => {
    const m = f.let(v128.load32Splat(from, part.largest));
    const sum = f.let(f64.load(from, part.sum));
    const inverse = f.let(v128.zero());
    f.if(i32.load(from, part.seen), () => {
      f.if(sink, () => {
        const own = f.let(v128.load32Splat(sink));
        const largest = f.let(f32x4.pmax(m, own));
        const ofValues = f64.fromF32(f32x4.extract(exp(f, target, f32x4.sub(m, largest)), 0));
        const ofSink = f64.fromF32(f32x4.extract(exp(f, target, f32x4.sub(own, largest)), 0));
        const scale = f.let(ofValues);
        f.set(sum, f64.div(f64.add(f64.mul(sum, scale), ofSink), scale));
      });
      f.set(inverse, f32x4.splat(f32.fromF64(f64.div(f64.const(1), sum))));
    });
    f.while(dV, () => {
      const value = f.let(f32x4.mul(v128.load(from, part.values), inverse));
      storeLanes(f, y, value, dV);
      f.advance(from, 16);
      f.advance(y, 16);
      f.set(dV, i32.select(i32.gtU(dV, 4), i32.sub(dV, 4), 0));
    });
  });
}

/** Memory that a thread needs of its own, at offsets of its room. */
export function roomLayout(
  width: number,
  dV: number,
  rows: number,
): { readonly segments: number; readonly parts: number; readonly copy: number; readonly bytes: number } {
  const segments = 4 * keyBlock + 64;
  const parts = segments + segmentBytes * (keyBlock + 4);
  const copy = parts + 2 * rows * partBytes(dV);
  return { segments, parts, copy, bytes: 64 * Math.ceil((copy + 4 * width * keyBlock + 64) / 64) };
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
 * - `attention.<type>`: queries × heads of the cache, `queries` neighbouring tokens each;
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
      f.while(i32.ltU(begin, last), () => {
        f.set(kvHead, i32.remU(begin, p.kvHeads));
        f.set(first, i32.mul(i32.divU(begin, p.kvHeads), p.queries));
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
    const segment = f.let(segments);
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
        const lastCount = i32.load(i32.sub(segment, segmentBytes), 8);
        const isNext = i32.and(
          i32.eq(i32.add(i32.load(i32.sub(segment, segmentBytes)), i32.mul(lastCount, rowBytes)), row),
          i32.eq(i32.add(i32.load(i32.sub(segment, segmentBytes), 4), lastCount), position),
        );
        const joins = f.let(i32.ne(segment, segments));
        f.if(joins, () => f.set(joins, isNext));
        f.if(
          joins,
          () => f.store(i32.sub(segment, segmentBytes), i32.add(lastCount, inside), 8),
          () => {
            f.store(segment, row);
            f.store(segment, position, 4);
            f.store(segment, inside, 8);
            f.advance(segment, segmentBytes);
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
          segmentsEnd: segment,
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

/** `width` elements of a cache's row as f32. */
function copyRow(f: FunctionBuilder, type: "f16" | "q8_0", row: Pointer, copy: Pointer, width: Pointer): void {
  const [from, to, left] = [f.let(row), f.let(copy), f.let(width)];
  if (type === "q8_0") {
    f.while(left, () => {
      const d = f.let(f32x4.splat(f32.load(i32.add(i32.shl(i32.load16U(from), 2), memoryMap.halfTable))));
      for (let eight = 0; eight < 4; eight++) {
        const words = f.let(v128.load8x8S(from, 2 + 8 * eight));
        f.store(to, f32x4.mul(f32x4.fromI32x4(i32x4.extendLowS(words)), d), 32 * eight);
        f.store(to, f32x4.mul(f32x4.fromI32x4(i32x4.extendHighS(words)), d), 32 * eight + 16);
      }
      f.advance(from, 34);
      f.advance(to, 128);
      f.advance(left, -32);
    });
    return;
  }
  f.while(i32.geU(left, 8), () => {
    f.store(to, loadHalves(f, from));
    f.store(to, loadHalves(f, from, 8), 16);
    f.advance(from, 16);
    f.advance(to, 32);
    f.advance(left, -8);
  });
  f.while(left, () => {
    const value = loadHalves(f, from);
    storeLanes(f, to, value, left);
    f.advance(from, 8);
    f.advance(to, i32.shl(i32.select(i32.ltU(left, 4), left, 4), 2));
    f.set(left, i32.select(i32.gtU(left, 4), i32.sub(left, 4), 0));
  });
}
