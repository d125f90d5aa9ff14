import {
  type FunctionBuilder,
  f32,
  f32x4,
  f64,
  f64x2,
  i32,
  i32x4,
  type Local,
  type ModuleBuilder,
  type V128,
  v128,
} from "../../emit/index.ts";
import { loadHalves } from "../../formats/half.ts";
import { exp } from "../../math/exp.ts";
import { tanh } from "../../math/tanh.ts";
import { laneMask, laneSums, largestLane } from "../../matmul/lanes.ts";
import { madd, type Target } from "../../target.ts";
import { storeLanes } from "./loops.ts";
import { addPairs } from "./softmax.ts";

type Pointer = Local<"i32">;

/** Vectors of the output that are summed at once. */
const valueVectors = 8;

const signature = {
  q: "i32",
  cache: "i32",
  y: "i32",
  scores: "i32",
  segments: "i32",
  segmentCount: "i32",
  seen: "i32",
  head: "i32",
  lastHead: "i32",
  group: "i32",
  dK: "i32",
  dV: "i32",
  slotBytes: "i32",
  headBytes: "i32",
  slopes: "i32",
  sinks: "i32",
  scale: "f32",
  softcap: "f32",
} as const;

/**
 * Emits `attention.<dtype>`: heads `head` to `lastHead` of one query over `seen` positions in `segments`, each of which is
 * `{ first slot, positions, first position - the query's }` in i32. Scores go to `scores`, in order. Each score and each output
 * is summed in an order that depends on nothing but the positions seen.
 */
export function emitAttention(module: ModuleBuilder, target: Target, dtype: "f32" | "f16"): void {
  const load = (f: FunctionBuilder, at: Pointer, index: number): V128 =>
    dtype === "f32" ? v128.load(at, 4 * index) : loadHalves(f, at, 2 * index);
  const elementBytes = dtype === "f32" ? 4 : 2;

  module.function(`attention.${dtype}`, signature, (f, p) => {
    const { scores, segments, segmentCount, seen, head, dK, dV } = p;
    const [query, memory, segment, left, slot, offset, count, to] = Array.from({ length: 8 }, () => f.local("i32")) as [
      Pointer,
      Pointer,
      Pointer,
      Pointer,
      Pointer,
      Pointer,
      Pointer,
      Pointer,
    ];
    const largest = f.local("v128");
    const scaleVector = f.let(f32x4.splat(p.scale));
    const softcap = f.let(f32x4.splat(p.softcap));

    /** Scale, soft cap and position bias of four scores of neighbouring positions. */
    const finishScores = (dots: V128): Local<"v128"> => {
      const score = f.let(f32x4.mul(dots, scaleVector));
      f.if(f32.gt(p.softcap, f32.const(0)), () => f.set(score, f32x4.mul(softcap, tanh(f, target, f32x4.div(score, softcap)))));
      f.if(p.slopes, () => {
        const steps = f.pooled(new Uint8Array(new Int32Array([0, 1, 2, 3]).buffer));
        const distance = f32x4.fromI32x4(i32x4.add(i32x4.splat(offset), steps));
        const slope = v128.load32Splat(i32.add(p.slopes, i32.shl(head, 2)));
        f.set(score, f32x4.add(score, f32x4.mul(slope, distance)));
      });
      return score;
    };

    /** Dot products of the query with `rows` neighbouring keys. */
    const dots = (rows: 1 | 4): Local<"v128"> => {
      const keys = f.locals("i32", rows);
      const sums = f.locals("v128", rows);
      const at = f.let(query);
      const quad = f.local("v128");
      keys.forEach((key, row) => void f.set(key, row === 0 ? slot : i32.add(slot, i32.mul(row, p.slotBytes))));
      for (const sum of sums) f.set(sum, v128.zero());
      const step = (vectors: number, mask?: Local<"v128">): void => {
        for (let vector = 0; vector < vectors; vector++) {
          const x = v128.load(at, 16 * vector);
          f.set(quad, mask === undefined ? x : v128.and(x, mask));
          keys.forEach((key, row) => {
            const k = load(f, key, 4 * vector);
            f.set(sums[row]!, madd(target, mask === undefined ? k : v128.and(k, mask), quad, sums[row]!));
          });
        }
        f.advance(at, 16 * vectors);
        for (const key of keys) f.advance(key, 4 * elementBytes * vectors);
        f.advance(left, -4 * vectors);
      };
      f.set(left, dK);
      f.while(i32.geU(left, 16), () => step(4));
      f.while(i32.geU(left, 4), () => step(1));
      f.if(left, () => step(1, laneMask(f, left)));
      const [s0, s1 = s0!, s2 = s0!, s3 = s0!] = sums;
      return laneSums(f, [s0!, s1, s2, s3]);
    };

    const forEachSegment = (body: () => void): void => {
      f.set(segment, segments);
      f.set(to, scores);
      const rest = f.let(segmentCount);
      f.while(rest, () => {
        f.set(slot, i32.add(memory, i32.mul(i32.load(segment), p.slotBytes)));
        f.set(count, i32.load(segment, 4));
        f.set(offset, i32.load(segment, 8));
        body();
        f.advance(segment, 12);
        f.advance(rest, -1);
      });
    };

    f.while(i32.ltU(head, p.lastHead), () => {
      f.set(query, i32.add(p.q, i32.mul(i32.mul(head, dK), 4)));
      f.set(memory, i32.add(p.cache, i32.mul(i32.divU(head, p.group), p.headBytes)));
      f.set(largest, f.splat(Number.NEGATIVE_INFINITY));
      forEachSegment(() => {
        const take = (rows: 1 | 4): void => {
          const score = finishScores(dots(rows));
          if (rows === 1) f.set(score, f32x4.shuffle(score, score, [0, 0, 0, 0]));
          if (rows === 1) f.store32Lane(to, score, 0);
          else f.store(to, score);
          f.set(largest, f32x4.pmax(largest, score));
          f.advance(to, 4 * rows);
          f.advance(slot, i32.mul(p.slotBytes, rows));
          f.advance(offset, rows);
          f.advance(count, -rows);
        };
        f.while(i32.geU(count, 4), () => take(4));
        f.while(count, () => take(1));
      });
      const sink = f.let(f.splat(Number.NEGATIVE_INFINITY));
      f.if(p.sinks, () => f.set(sink, v128.load32Splat(i32.add(p.sinks, i32.shl(head, 2)))));
      const m = f.let(f32x4.pmax(largestLane(f, largest), sink));
      const weight = weights(f, target, scores, seen, m, sink, p.sinks);

      const output = f.let(i32.add(p.y, i32.mul(i32.mul(head, dV), 4)));
      const valueColumn = f.let(i32.add(memory, i32.mul(dK, elementBytes)));
      const columns = f.let(dV);
      const sumValues = (vectors: number): void => {
        const sums = f.locals("v128", vectors);
        const p4 = f.local("v128");
        const at = f.local("i32");
        for (const sum of sums) f.set(sum, v128.zero());
        const base = f.let(i32.sub(valueColumn, memory));
        forEachSegment(() => {
          f.set(at, i32.add(slot, base));
          f.while(count, () => {
            f.set(p4, v128.load32Splat(to));
            sums.forEach((sum, i) => void f.set(sum, madd(target, load(f, at, 4 * i), p4, sum)));
            f.advance(at, p.slotBytes);
            f.advance(to, 4);
            f.advance(count, -1);
          });
        });
        sums.forEach((sum, i) => {
          const scaled = f.let(f32x4.mul(sum, weight));
          if (vectors === 1) storeLanes(f, output, scaled, columns);
          else f.store(output, scaled, 16 * i);
        });
        f.advance(output, 16 * vectors);
        f.advance(valueColumn, 4 * elementBytes * vectors);
      };
      f.while(i32.geU(columns, 4 * valueVectors), () => {
        sumValues(valueVectors);
        f.advance(columns, -4 * valueVectors);
      });
      f.while(columns, () => {
        sumValues(1);
        f.set(columns, i32.select(i32.gtU(columns, 4), i32.sub(columns, 4), 0));
      });
      f.advance(head, 1);
    });
  });
}

/**
 * Emits `attention.widen(cache, slotBytes, segments, segmentCount, to, width)`: the rows of `width` halves in the slots of
 * `segments`, one after the other as f32.
 */
export function emitWiden(module: ModuleBuilder): void {
  const widenSignature = { cache: "i32", slotBytes: "i32", segments: "i32", segmentCount: "i32", to: "i32", width: "i32" } as const;
  module.function("attention.widen", widenSignature, (f, { cache, slotBytes, segments, segmentCount, to, width }) => {
    const [slot, count, at, left] = [f.local("i32"), f.local("i32"), f.local("i32"), f.local("i32")];
    const value = f.local("v128");
    f.while(segmentCount, () => {
      f.set(slot, i32.add(cache, i32.mul(i32.load(segments), slotBytes)));
      f.set(count, i32.load(segments, 4));
      f.while(count, () => {
        f.set(at, slot);
        f.set(left, width);
        f.while(i32.geU(left, 8), () => {
          f.store(to, loadHalves(f, at));
          f.store(to, loadHalves(f, at, 8), 16);
          f.advance(at, 16);
          f.advance(to, 32);
          f.advance(left, -8);
        });
        f.while(left, () => {
          f.set(value, loadHalves(f, at));
          storeLanes(f, to, value, left);
          f.advance(at, 8);
          f.advance(to, i32.shl(i32.select(i32.ltU(left, 4), left, 4), 2));
          f.set(left, i32.select(i32.gtU(left, 4), i32.sub(left, 4), 0));
        });
        f.advance(slot, slotBytes);
        f.advance(count, -1);
      });
      f.advance(segments, 12);
      f.advance(segmentCount, -1);
    });
  });
}

/** Turns scores into `exp(score - m)` in place and returns the inverse of their sum, 0 where there are none. */
function weights(
  f: FunctionBuilder,
  target: Target,
  scores: Pointer,
  seen: Pointer,
  m: Local<"v128">,
  sink: Local<"v128">,
  sinks: Pointer,
): Local<"v128"> {
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
  const sum = f.let(f64.add(f64x2.extract(total, 0), f64x2.extract(total, 1)));
  f.if(sinks, () => f.set(sum, f64.add(sum, f64.fromF32(f32x4.extract(exp(f, target, f32x4.sub(sink, m)), 0)))));
  const inverse = f.let(v128.zero());
  f.if(seen, () => f.set(inverse, f32x4.splat(f32.fromF64(f64.div(f64.const(1), sum)))));
  return inverse;
}
