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
  const { shape } = x.ref.spec;
  const n = shape.at(-1);
  const isSame = sameShape(shape, y.ref.spec.shape);
  const largest = Math.max(x.bound, y.bound);
  const error = Math.max(x.error, y.error);
  const lipschitz = (record: () => Value, bound: number, slope: number, precision: number): Candidate => ({
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
      // A value with an error might compare differently.
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
      const half = (): Value => program.element(program.constant(Float32Array.of(0.5), "f32", [1]), { index: 0 });
      const w = (): Value => program.expand(half(), { shape: [n] });
      return lipschitz(() => program.rmsNorm(x.ref, w(), { eps: 1 }), Math.sqrt(n), 2 * Math.sqrt(n), n * arithmetic + transcendental);
    }
    case 12: {
      if (!isSame || typeof n !== "number" || shape.length === 0) return impossible;
      const both = (): Value => program.concat([x.ref, y.ref], { axis: -1 });
      const start = draw(n + 1);
      return { bound: largest, error, record: () => program.slice(both(), { axis: -1, start, end: start + n }) };
    }
    case 13: {
      if (shape.length < 2 || elementAt(program.values, x.ref.id).persistent !== undefined) return impossible;
      return { ...x, record: () => program.transpose(x.ref, { axes: shape.map((_, axis) => shape.length - 1 - axis) }) };
    }
    case 14: {
      // Rows that exist in every run.
      if (shape.length !== 2 || minimumRows(shape) < 1) return impossible;
      return { ...x, record: () => program.embedding(x.ref, program.constant(Int32Array.of(0, 0), "i32", [2])) };
    }
    default:
      return lipschitz(() => program.stack([x.ref, program.scale(x.ref, { by: -1 })], { axis: 0 }), x.bound, 1, 0);
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
  const cols = elementAt(matrices, 0).spec.shape[0] as number;
  const unary = (record: () => Value, bound: number, slope: number, precision: number): Candidate => ({
    bound,
    error: slope * x.error + precision * Math.max(bound, 1e-3),
    record,
  });
  switch (draw(23)) {
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
    case 9:
    case 10: {
      const by = elementAt([1, 0.5, -2, 1.5], draw(4));
      return unary(() => program.scale(x.ref, { by }), Math.abs(by) * x.bound, Math.abs(by), arithmetic);
    }
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
    case 16: {
      const y = pick();
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
    case 17: {
      const { shape } = x.ref.spec;
      if (shape.length !== 2 || shape[1] !== cols) return impossible;
      const bound = cols * x.bound;
      const matrix = elementAt(matrices, draw(matrices.length));
      return { bound, error: cols * x.error + cols * arithmetic * bound, record: () => program.matmul(x.ref, matrix) };
    }
    case 18: {
      // Only outer axes may be symbolic.
      if (x.ref.spec.shape.length === 0 || typeof x.ref.spec.shape.at(-1) !== "number") return impossible;
      const kind = draw(3);
      const keepDims = next() < 0.5;
      if (kind === 0) {
        const n = x.ref.spec.shape.at(-1) as number;
        const bound = n * x.bound;
        return { bound, error: n * (x.error + arithmetic * bound), record: () => program.sum(x.ref, { axis: -1, keepDims }) };
      }
      if (kind === 1) return unary(() => program.max(x.ref, { axis: -1, keepDims }), x.bound, 1, 0);
      return unary(() => program.mean(x.ref, { axis: -1, keepDims }), x.bound, 1, cols * arithmetic);
    }
    case 19:
      if (x.ref.spec.shape.length === 0 || typeof x.ref.spec.shape.at(-1) !== "number" || x.bound > 8) return impossible;
      return unary(() => program.softmax(x.ref), 1, 2, 2 * transcendental);
    case 20:
      // A view of the state is stale after the next write.
      if (elementAt(program.values, x.ref.id).persistent !== undefined) return impossible;
      return { ...x, record: () => program.reshape(x.ref, { shape: [1, ...x.ref.spec.shape].slice(x.ref.spec.shape.length > 3 ? 1 : 0) }) };
    case 21: {
      // Rounded values that were off differ by a step more.
      const { dtype, step } = elementAt(
        [
          { dtype: "f16", step: 2 ** -10 },
          { dtype: "bf16", step: 2 ** -7 },
        ] as const,
        draw(2),
      );
      const precision = x.error === 0 ? 0 : step;
      return unary(() => program.cast(program.cast(x.ref, { dtype }), { dtype: "f32" }), (1 + step) * x.bound, 1, precision);
    }
    default:
      if (x.ref.spec.shape.length === 0) return impossible;
      return { ...x, record: () => program.element(x.ref, { index: 0 }) };
  }
}

function broadcasts(a: Shape, b: Shape): boolean {
  const fits = (p: Dim, q: Dim): boolean => p === 1 || q === 1 || sameShape([p], [q]);
  return a.toReversed().every((dim, i) => fits(dim, b.at(-1 - i) ?? 1));
}
