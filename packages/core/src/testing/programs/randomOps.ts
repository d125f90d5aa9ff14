import type { Program, Ref } from "../../program.ts";
import { elementCount, type Shape, sameShape } from "../../spec.ts";

/** A value of a program: bounds on its elements and on how far they may be off. */
export interface Known {
  readonly ref: Ref;
  readonly bound: number;
  readonly error: number;
}

/** A call that could be recorded, with what is known of its result. */
export interface Candidate {
  readonly bound: number;
  readonly error: number;
  readonly record: () => Ref;
}

/** Relative error of arithmetic in f32, with room for products that are not rounded between a multiplication and an addition. */
export const arithmetic: number = 2 ** -22;
/** Error of exp, tanh and what is made of them, in units of the result's bound. */
export const transcendental = 1e-5;

export const impossible: Candidate = {
  bound: Number.POSITIVE_INFINITY,
  error: 0,
  record: () => {
    throw new RangeError("an impossible call was drawn");
  },
};

/** A call of one of the families that not every backend has kernels for: choices, norms, scans, orders, movement. */
export function drawOther(program: Program, draw: (n: number) => number, pick: () => Known, weight: Ref): Candidate {
  const x = pick();
  const y = pick();
  const { shape } = x.ref.spec;
  const n = shape.at(-1);
  const isSame = sameShape(shape, y.ref.spec.shape);
  const largest = Math.max(x.bound, y.bound);
  const error = Math.max(x.error, y.error);
  const lipschitz = (record: () => Ref, bound: number, slope: number, precision: number): Candidate => ({
    bound,
    error: slope * x.error + precision * Math.max(bound, 1e-3),
    record,
  });
  switch (draw(16)) {
    case 0:
      return isSame ? { bound: largest, error, record: () => program.maximum(x.ref, y.ref) } : impossible;
    case 1:
      return isSame ? { bound: largest, error, record: () => program.minimum(x.ref, y.ref) } : impossible;
    case 2: {
      // What is off might be compared the other way round.
      const isExact = isSame && x.error === 0 && y.error === 0;
      return isExact ? { bound: largest, error: 0, record: () => program.where(program.greater(x.ref, y.ref), x.ref, y.ref) } : impossible;
    }
    case 3:
      if (!isSame) return impossible;
      return {
        bound: x.bound * y.bound + x.bound,
        error: x.bound * y.error + (y.bound + y.error + 1) * x.error + 2 * arithmetic * (x.bound * y.bound + x.bound),
        record: () => program.fma(x.ref, y.ref, x.ref),
      };
    case 4:
      return lipschitz(() => program.softplus(x.ref), x.bound + 0.7, 1, transcendental);
    case 5:
      return lipschitz(() => program.hardswish(x.ref), x.bound, 1.5, 4 * arithmetic);
    case 6:
      return lipschitz(() => program.abs(program.neg(x.ref)), x.bound, 1, 0);
    case 7: {
      if (typeof n !== "number" || shape.length === 0) return impossible;
      return lipschitz(() => program.cumsum(x.ref, { axis: -1 }), n * x.bound, n, n * arithmetic);
    }
    case 8:
      if (typeof n !== "number" || shape.length === 0) return impossible;
      return lipschitz(() => program.sort(x.ref, { axis: -1, descending: draw(2) === 0 }), x.bound, 1, 0);
    case 9:
      if (typeof n !== "number" || shape.length === 0) return impossible;
      return lipschitz(() => program.normL2(x.ref, { axis: -1, keepDims: true }), Math.sqrt(n) * x.bound, Math.sqrt(n), n * arithmetic);
    case 10:
      if (typeof n !== "number" || shape.length === 0 || x.bound > 8) return impossible;
      return lipschitz(() => program.variance(x.ref, { axis: -1, keepDims: true }), x.bound ** 2, 4 * x.bound, 4 * n * arithmetic);
    case 11: {
      // An eps of 1 bounds the slope where a row is nearly constant.
      const first = weight.spec.shape[0];
      if (typeof n !== "number" || n !== first || shape.length === 0) return impossible;
      const row = program.element(program.constant(new Float32Array(1).fill(0.5), "f32", [1]), { index: 0 });
      const w = program.expand(row, { shape: [n] });
      return lipschitz(() => program.rmsNorm(x.ref, w, { eps: 1 }), Math.sqrt(n), 2 * Math.sqrt(n), n * arithmetic + transcendental);
    }
    case 12: {
      if (!isSame || typeof n !== "number" || shape.length === 0) return impossible;
      const both = (): Ref => program.concat([x.ref, y.ref], { axis: -1 });
      const start = draw(n + 1);
      return { bound: largest, error, record: () => program.slice(both(), { axis: -1, start, end: start + n }) };
    }
    case 13: {
      if (shape.length < 2 || program.values[x.ref.id]!.persistent !== undefined) return impossible;
      return { ...x, record: () => program.transpose(x.ref, { axes: shape.map((_, axis) => shape.length - 1 - axis) }) };
    }
    case 14: {
      // Rows that every run has.
      if (shape.length !== 2 || minimumRows(shape) < 1) return impossible;
      return { ...x, record: () => program.embedding(x.ref, program.constant(Int32Array.of(0, 0), "i32", [2])) };
    }
    default:
      return lipschitz(() => program.stack([x.ref, program.scale(x.ref, { by: -1 })], { axis: 0 }), x.bound, 1, 0);
  }
}

/** Symbolic dims of random programs are 1 at least. */
function minimumRows(shape: Shape): number {
  return elementCount(shape.slice(0, 1).map((dim) => (typeof dim === "number" ? dim : 1)));
}
