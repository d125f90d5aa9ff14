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
  type V128,
  v128,
} from "../../emit/index.ts";
import { exp } from "../../math/exp.ts";
import { tanh } from "../../math/tanh.ts";
import { laneMask, laneSums, largestLane } from "../../matmul/lanes.ts";
import { madd, type Target } from "../../target.ts";
import { storeLanes } from "./loops.ts";
import { addPairs } from "./sum.ts";

export type Pointer = Local<"i32">;

/** Vectors of the output that are summed at once. */
const valueVectors = 8;

/**
 * What a query sees of some positions: the largest score f32, the number of positions i32, the sum of the weights `exp(score - largest)`
 * f64, and the sum of the weighted values f32.
 */
export const part = { largest: 0, seen: 4, sum: 8, values: 16 } as const;

/** Bytes of a {@link part} of so many values; whole vectors. */
export function partBytes(dV: number): number {
  return part.values + 16 * Math.ceil(dV / 4);
}

/** Fields of a segment, rows of neighbouring positions in memory: address of the first row, its position, number of rows. */
export const segment = { row: 0, position: 8, count: 12 } as const;

/** Bytes of a {@link segment}. */
export const segmentBytes = 16;

export const rowsSignature = {
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
export function emitRows(module: ModuleBuilder, target: Target): FunctionRef<typeof rowsSignature, undefined> {
  return module.function("attention.rows", rowsSignature, (f, p) => {
    const { scores, dK, dV } = p;
    const [slot, left, offset, count, to] = f.locals("i32", 5);
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
      const at = f.let(p.segments);
      f.set(to, scores);
      f.while(i32.ltU(at, p.segmentsEnd), () => {
        const position = f.let(i32.load(at, segment.position));
        const first = f.let(i32.select(i32.gtS(p.from, position), p.from, position));
        const last = f.let(i32.add(position, i32.load(at, segment.count)));
        f.set(last, i32.select(i32.ltS(p.end, last), p.end, last));
        f.if(i32.ltS(first, last), () => {
          f.set(slot, i32.add(i32.loadAddress(at, segment.row), i32.mul(i32.sub(first, position), p.rowBytes)));
          f.set(offset, i32.sub(first, p.position));
          f.set(count, i32.sub(last, first));
          body();
        });
        f.advance(at, segmentBytes);
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
export function emitMerge(module: ModuleBuilder, target: Target): FunctionRef<typeof mergeSignature, undefined> {
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
export function emitFinish(module: ModuleBuilder, target: Target): FunctionRef<typeof finishSignature, undefined> {
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
