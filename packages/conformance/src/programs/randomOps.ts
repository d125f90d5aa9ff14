import type { Dim, Program, Shape, Value } from "@centella/core";
import { elementAt, elementCount, sameShape } from "@centella/core/backend";

/** A value of a program: bounds on its elements and on how far they may be off. */
export interface Known {
  readonly ref: Value;
  readonly bound: number;
  readonly error: number;
}

/** A call that could be recorded, with the known properties of its result. */
export interface Candidate {
  readonly bound: number;
  readonly error: number;
  readonly record: () => Value;
}

/** Relative error of f32 arithmetic, with room for fused multiply-adds. */
export const arithmetic: number = 2 ** -22;
/** Error of exp, tanh and functions built from them, in units of the result's bound. */
export const transcendental = 1e-5;

export const impossible: Candidate = {
  bound: Number.POSITIVE_INFINITY,
  error: 0,
  record: () => {
    throw new RangeError("an impossible call was drawn");
  },
};

/** A call of a family for which some backends lack kernels: choices, norms, scans, orders, movement. */
export function drawOther(program: Program, draw: (n: number) => number, pick: () => Known, weight: Value): Candidate {
  const x = pick();
  const y = pick();
  const kind = draw(16);
  if (kind < 4) return drawPairwise(program, kind, x, y);
  if (kind < 7) return drawUnary(program, kind, x);
  if (kind < 12) return drawAlongRows(program, draw, kind, x, weight);
  return drawMovement(program, draw, kind, x, y);
}

/** A result whose error is at most `slope` times that of `x`, apart from a relative one. */
function lipschitz(x: Known, record: () => Value, bound: number, slope: number, precision: number): Candidate {
  return { bound, error: slope * x.error + precision * Math.max(bound, 1e-3), record };
}

function drawPairwise(program: Program, kind: number, x: Known, y: Known): Candidate {
  if (!sameShape(x.ref.spec.shape, y.ref.spec.shape)) return impossible;
  const bound = Math.max(x.bound, y.bound);
  const error = Math.max(x.error, y.error);
  switch (kind) {
    case 0:
      return { bound, error, record: () => program.maximum(x.ref, y.ref) };
    case 1:
      return { bound, error, record: () => program.minimum(x.ref, y.ref) };
    case 2:
      // A value with an error might compare differently.
      if (error > 0) return impossible;
      return { bound, error, record: () => program.where(program.greater(x.ref, y.ref), x.ref, y.ref) };
    default:
      return {
        bound: x.bound * y.bound + x.bound,
        error: x.bound * y.error + (y.bound + y.error + 1) * x.error + 2 * arithmetic * (x.bound * y.bound + x.bound),
        record: () => program.fma(x.ref, y.ref, x.ref),
      };
  }
}

function drawUnary(program: Program, kind: number, x: Known): Candidate {
  switch (kind) {
    case 4:
      return lipschitz(x, () => program.softplus(x.ref), x.bound + 0.7, 1, transcendental);
    case 5:
      return lipschitz(x, () => program.hardswish(x.ref), x.bound, 1.5, 4 * arithmetic);
    default:
      return lipschitz(x, () => program.abs(program.neg(x.ref)), x.bound, 1, 0);
  }
}

/** A scan, order, reduction or norm along a last axis that is not symbolic. */
function drawAlongRows(program: Program, draw: (n: number) => number, kind: number, x: Known, weight: Value): Candidate {
  const n = x.ref.spec.shape.at(-1);
  if (typeof n !== "number") return impossible;
  switch (kind) {
    case 7:
      return lipschitz(x, () => program.cumsum(x.ref, { axis: -1 }), n * x.bound, n, n * arithmetic);
    case 8:
      return lipschitz(x, () => program.sort(x.ref, { axis: -1, descending: draw(2) === 0 }), x.bound, 1, 0);
    case 9:
      return lipschitz(x, () => program.normL2(x.ref, { axis: -1, keepDims: true }), Math.sqrt(n) * x.bound, Math.sqrt(n), n * arithmetic);
    case 10:
      if (x.bound > 8) return impossible;
      return lipschitz(x, () => program.variance(x.ref, { axis: -1, keepDims: true }), x.bound ** 2, 4 * x.bound, 4 * n * arithmetic);
    default: {
      // An eps of 1 bounds the slope where a row is nearly constant.
      if (n !== weight.spec.shape[0]) return impossible;
      const half = (): Value => program.element(program.constant(Float32Array.of(0.5), "f32", [1]), { index: 0 });
      const w = (): Value => program.expand(half(), { shape: [n] });
      return lipschitz(x, () => program.rmsNorm(x.ref, w(), { eps: 1 }), Math.sqrt(n), 2 * Math.sqrt(n), n * arithmetic + transcendental);
    }
  }
}

/** A call whose result has elements of `x` and `y`, unchanged but for their signs. */
function drawMovement(program: Program, draw: (n: number) => number, kind: number, x: Known, y: Known): Candidate {
  const { shape } = x.ref.spec;
  switch (kind) {
    case 12: {
      const n = shape.at(-1);
      if (!sameShape(shape, y.ref.spec.shape) || typeof n !== "number") return impossible;
      const both = (): Value => program.concat([x.ref, y.ref], { axis: -1 });
      const start = draw(n + 1);
      const record = () => program.slice(both(), { axis: -1, start, end: start + n });
      return { bound: Math.max(x.bound, y.bound), error: Math.max(x.error, y.error), record };
    }
    case 13:
      if (shape.length < 2 || elementAt(program.values, x.ref.id).persistent !== undefined) return impossible;
      return { ...x, record: () => program.transpose(x.ref, { axes: shape.map((_, axis) => shape.length - 1 - axis) }) };
    case 14:
      // Rows that exist in every run.
      if (shape.length !== 2 || minimumRows(shape) < 1) return impossible;
      return { ...x, record: () => program.embedding(x.ref, program.constant(Int32Array.of(0, 0), "i32", [2])) };
    default:
      return lipschitz(x, () => program.stack([x.ref, program.scale(x.ref, { by: -1 })], { axis: 0 }), x.bound, 1, 0);
  }
}

/** Symbolic dims of random programs are at least 1. */
function minimumRows(shape: Shape): number {
  return elementCount(shape.slice(0, 1).map((dim) => (typeof dim === "number" ? dim : 1)));
}

/** A call of an elementwise op with or without broadcasting, a reduction, a product or a view. */
export function drawCall(
  program: Program,
  draw: (n: number) => number,
  next: () => number,
  pick: () => Known,
  matrices: readonly Value[],
): Candidate {
  const x = pick();
  const kind = draw(23);
  if (kind < 11) return drawActivation(program, draw, kind, x);
  if (kind < 17) return drawBroadcast(program, draw, x, pick());
  if (kind === 17) return drawProduct(program, draw, x, matrices);
  if (kind < 20) return drawReduction(program, draw, next, kind, x);
  return drawView(program, draw, kind, x);
}

function drawActivation(program: Program, draw: (n: number) => number, kind: number, x: Known): Candidate {
  const unary = (record: () => Value, bound: number, slope: number, precision: number) => lipschitz(x, record, bound, slope, precision);
  switch (kind) {
    case 0:
    case 1:
      return unary(() => program.relu(x.ref), x.bound, 1, 0);
    case 2:
      return unary(() => program.leakyRelu(x.ref, { slope: 0.1 }), x.bound, 1, arithmetic);
    case 3:
      return unary(() => program.elu(x.ref), Math.max(x.bound, 1), 1, transcendental);
    case 4:
      return unary(() => program.sigmoid(x.ref), 1, 0.25, transcendental);
    case 5:
      return unary(() => program.tanh(x.ref), 1, 1, transcendental);
    case 6:
      return unary(() => program.silu(x.ref), x.bound, 1.1, transcendental);
    case 7:
      return unary(() => program.gelu(x.ref), x.bound, 1.2, transcendental);
    case 8:
      return unary(() => program.clip(x.ref, { min: -0.75, max: 0.5 }), Math.min(x.bound, 0.75), 1, 0);
    default: {
      const by = elementAt([1, 0.5, -2, 1.5], draw(4));
      return unary(() => program.scale(x.ref, { by }), Math.abs(by) * x.bound, Math.abs(by), arithmetic);
    }
  }
}

function drawBroadcast(program: Program, draw: (n: number) => number, x: Known, y: Known): Candidate {
  if (!broadcasts(x.ref.spec.shape, y.ref.spec.shape)) return impossible;
  const kind = draw(4);
  if (kind === 3) {
    const error = x.bound * y.error + y.bound * x.error + x.error * y.error + arithmetic * x.bound * y.bound;
    return { bound: x.bound * y.bound, error, record: () => program.mul(x.ref, y.ref) };
  }
  const bound = x.bound + y.bound;
  const error = x.error + y.error + arithmetic * bound;
  return { bound, error, record: () => (kind === 0 ? program.sub(x.ref, y.ref) : program.add(x.ref, y.ref)) };
}

function drawProduct(program: Program, draw: (n: number) => number, x: Known, matrices: readonly Value[]): Candidate {
  const { shape } = x.ref.spec;
  const [rows] = elementAt(matrices, 0).spec.shape;
  if (shape.length !== 2 || typeof rows !== "number" || shape[1] !== rows) return impossible;
  const bound = rows * x.bound;
  const matrix = elementAt(matrices, draw(matrices.length));
  return { bound, error: rows * x.error + rows * arithmetic * bound, record: () => program.matmul(x.ref, matrix) };
}

function drawReduction(program: Program, draw: (n: number) => number, next: () => number, kind: number, x: Known): Candidate {
  // Only outer axes may be symbolic.
  const n = x.ref.spec.shape.at(-1);
  if (typeof n !== "number") return impossible;
  if (kind === 19) return x.bound > 8 ? impossible : lipschitz(x, () => program.softmax(x.ref), 1, 2, 2 * transcendental);
  const reduction = draw(3);
  const keepDims = next() < 0.5;
  if (reduction === 0) {
    const bound = n * x.bound;
    return { bound, error: n * (x.error + arithmetic * bound), record: () => program.sum(x.ref, { axis: -1, keepDims }) };
  }
  if (reduction === 1) return lipschitz(x, () => program.max(x.ref, { axis: -1, keepDims }), x.bound, 1, 0);
  return lipschitz(x, () => program.mean(x.ref, { axis: -1, keepDims }), x.bound, 1, n * arithmetic);
}

/** A reshape, a conversion to 16 bits and back, or one element. */
function drawView(program: Program, draw: (n: number) => number, kind: number, x: Known): Candidate {
  const { shape } = x.ref.spec;
  switch (kind) {
    case 20:
      // A view of the state is stale after the next write.
      if (elementAt(program.values, x.ref.id).persistent !== undefined) return impossible;
      return { ...x, record: () => program.reshape(x.ref, { shape: [1, ...shape].slice(shape.length > 3 ? 1 : 0) }) };
    case 21: {
      const { dtype, step } = elementAt([f16, bf16], draw(2));
      // Rounded values that were off differ by a step more.
      const precision = x.error === 0 ? 0 : step;
      const record = () => program.cast(program.cast(x.ref, { dtype }), { dtype: "f32" });
      return lipschitz(x, record, (1 + step) * x.bound, 1, precision);
    }
    default:
      return shape.length === 0 ? impossible : { ...x, record: () => program.element(x.ref, { index: 0 }) };
  }
}

const f16 = { dtype: "f16", step: 2 ** -10 } as const;
const bf16 = { dtype: "bf16", step: 2 ** -7 } as const;

function broadcasts(a: Shape, b: Shape): boolean {
  const fits = (p: Dim, q: Dim): boolean => p === 1 || q === 1 || sameShape([p], [q]);
  return a.toReversed().every((dim, i) => fits(dim, b.at(-1 - i) ?? 1));
}
