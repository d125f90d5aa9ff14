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
  v128,
} from "../../emit/index.ts";
import { exp, expCut } from "../../math/exp.ts";
import { tanh } from "../../math/tanh.ts";
import { laneMask, largestLane } from "../../matmul/lanes.ts";
import { madd, type Target } from "../../target.ts";
import { storeLanes } from "../shared/loops.ts";
import { upperHalf } from "../shared/sum.ts";

export type Pointer = Local<"i32">;

/**
 * Partial attention of a query over some positions: the largest score (f32), the number of visible positions (i32), the
 * sum of the weights `exp(score - largest)` (f64), and the weighted sum of values (f32).
 */
export const part = { largest: 0, seen: 4, sum: 8, values: 16 } as const;

/** Values are computed four vectors at a time, so the last ones are padded. */
export function partBytes(dV: number): number {
  return part.values + 64 * Math.ceil(dV / 16);
}

const weightsSignature = {
  scores: "i32",
  count: "i32",
  seen: "i32",
  to: "i32",
  vectors: "i32",
  distance: "i32",
  slope: "i32",
  bias: "i32",
  reach: "i32",
  softcap: "f32",
  unit: "i32",
} as const;

/**
 * Emits `attention.weights`. Turns `count` scores of adjacent positions into weights in place, times the power of two
 * at `unit`; `seen` of them are not -infinity. Starts the {@link part} at `to` with `vectors` zero vectors. `distance` is that of the first position from
 * the query's, `slope` the address of its ALiBi slope, or 0; `bias` that of its head's bias at distance 0, or 0, which goes up to `reach`.
 */
export function emitWeights(module: ModuleBuilder, target: Target): FunctionRef<typeof weightsSignature, undefined> {
  return module.function("attention.weights", weightsSignature, (f, p) => {
    const [at, left] = f.locals("i32", 2);
    /** Visits four scores at a time. The last vector may include padding. */
    const forEachVector = (body: () => void): void => {
      f.set(at, p.scores);
      f.set(left, p.count);
      f.while(i32.gtS(left, 0), () => {
        body();
        f.advance(at, 16);
        f.advance(left, -4);
      });
    };
    f.if(f32.gt(p.softcap, f32.const(0)), () => {
      const softcap = f.let(f32x4.splat(p.softcap));
      forEachVector(() => f.store(at, f32x4.mul(softcap, tanh(f, target, f.let(f32x4.div(v128.load(at), softcap))))));
    });
    f.if(p.slope, () => {
      const slope = f.let(v128.load32Splat(p.slope));
      const distance = f.let(i32x4.add(i32x4.splat(p.distance), f.pooled(new Uint8Array(new Int32Array([0, 1, 2, 3]).buffer))));
      forEachVector(() => {
        f.store(at, f32x4.sub(v128.load(at), f32x4.mul(slope, f32x4.abs(f32x4.fromI32x4(distance)))));
        f.set(distance, i32x4.add(distance, f.splatBits(4)));
      });
    });
    f.if(p.bias, () => {
      f.set(at, p.scores);
      f.set(left, p.count);
      const nearest = f.let(p.distance);
      f.while(left, () => {
        f.set(nearest, i32.select(i32.ltS(p.distance, p.reach), p.distance, p.reach));
        f.set(nearest, i32.select(i32.gtS(i32.add(nearest, p.reach), 0), nearest, i32.sub(0, p.reach)));
        f.store(at, f32.add(f32.load(at), f32.load(i32.add(p.bias, i32.shl(nearest, 2)))));
        f.advance(p.distance, 1);
        f.advance(at, 4);
        f.advance(left, -1);
      });
    });
    const largest = f.let(f.splat(Number.NEGATIVE_INFINITY));
    f.set(at, p.scores);
    f.set(left, p.count);
    f.while(i32.geU(left, 4), () => {
      f.set(largest, f32x4.pmax(largest, v128.load(at)));
      f.advance(at, 16);
      f.advance(left, -4);
    });
    f.if(left, () => f.set(largest, f32x4.pmax(largest, v128.bitselect(laneMask(f, left), v128.load(at), largest))));
    const m = largestLane(f, largest);
    f.store32Lane(p.to, m, 0, part.largest);
    f.store(p.to, p.seen, part.seen);
    const sum = f.let(f64.const(0));
    f.if(
      p.seen,
      () => f.set(sum, weights(f, target, p.scores, p.count, m, p.unit)),
      () => f.memoryFill(p.scores, 0, i32.shl(p.count, 2)),
    );
    f.store(p.to, sum, part.sum);
    f.while(p.vectors, () => {
      f.store(p.to, v128.zero(), part.values);
      f.advance(p.to, 16);
      f.advance(p.vectors, -1);
    });
  });
}

/**
 * Replaces scores with `exp(score - m)` times the power of two at `unit`, and returns the sum of `exp(score - m)`, added
 * in f32 with up to 64 terms per lane.
 */
function weights(f: FunctionBuilder, target: Target, scores: Pointer, count: Pointer, m: Local<"v128">, unit: Pointer): Local<"f64"> {
  const exponent = f.let(i32x4.sub(v128.load32Splat(unit), f.splat(1)));
  const [at, left] = [f.let(scores), f.let(count)];
  const sums = f.locals("v128", 4);
  // Weights whose products would all be subnormal become zeros: subnormals cost about a hundred cycles.
  const weight = (offset: number): Local<"v128"> => expCut(f, target, f.let(f32x4.sub(v128.load(at, offset), m)), exponent);
  f.while(i32.geU(left, 16), () => {
    f.interleave(
      sums.map((sum, i) => () => {
        const e = weight(16 * i);
        f.store(at, e, 16 * i);
        f.set(sum, f32x4.add(sum, e));
      }),
    );
    f.advance(at, 64);
    f.advance(left, -16);
  });
  const [a, b, c, d] = sums;
  const total = f.let(f32x4.add(f32x4.add(a, b), f32x4.add(c, d)));
  f.while(i32.gtS(left, 0), () => {
    const e = weight(0);
    f.store(at, e);
    f.set(total, f32x4.add(total, v128.and(e, laneMask(f, left))));
    f.advance(at, 16);
    f.advance(left, -4);
  });
  const pairs = f.let(f64x2.add(f64x2.promoteLowF32x4(total), f64x2.promoteLowF32x4(upperHalf(total))));
  return f.let(f64.div(f64.add(f64x2.extract(pairs, 0), f64x2.extract(pairs, 1)), f64.fromF32(f32.load(unit))));
}

const mergeSignature = { into: "i32", from: "i32", dV: "i32" } as const;

/** Emits `attention.merge`: adds the {@link part} of later positions to that of earlier ones. */
export function emitMerge(module: ModuleBuilder, target: Target): FunctionRef<typeof mergeSignature, undefined> {
  return module.function("attention.merge", mergeSignature, (f, { into, from, dV }) => {
    const [a, b] = [f.let(v128.load32Splat(into, part.largest)), f.let(v128.load32Splat(from, part.largest))];
    const m = f.let(f32x4.pmax(a, b));
    /** Factor of a part's values relative to the larger maximum; 0 if the part is empty. */
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
      f.countDown(dV, 4);
    });
  });
}

const finishSignature = { from: "i32", y: "i32", dV: "i32", sink: "i32" } as const;

/** Emits `attention.finish`: a {@link part}'s values divided by its sum, 0 if it is empty. `sink` may be 0. */
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
      f.countDown(dV, 4);
    });
  });
}
