import type { DType, Shape, Value } from "@centella/core";
import { elementAt, elementCount, sameShape, tupleOf } from "@centella/core/backend";
import { isHalf } from "@centella/quant";
import { type Draft, isConcreteFrom, precisionOf } from "./randomDraft.ts";
import { arithmetic, type Candidate, impossible, type Known, transcendental } from "./randomOps.ts";

/** Draws one call of a family of ops, or a few related calls. */
export type Family = (draft: Draft) => Candidate;

const weightTypes: readonly DType[] = ["f32", "f16", "bf16", "q8_0", "q4_0", "q5_1", "q4_K", "q6_K", "iq4_xs", "mxfp4"];

/** A block type's row must be whole blocks. */
function fits(dtype: DType, n: number): boolean {
  const isK = dtype.endsWith("_K") || dtype === "iq4_xs";
  return dtype === "f32" || isHalf(dtype) || n % (isK ? 256 : 32) === 0;
}

export function lastExtent({ ref }: Known): number {
  return ref.spec.shape.at(-1) as number;
}

function hasRows(value: Known): boolean {
  const { shape } = value.ref.spec;
  return shape.length >= 2 && isConcreteFrom(shape, shape.length - 1) && lastExtent(value) > 0;
}

/** A product with its own weight, scaled back to the size of `x` before or after it, so that groups form on both sides. */
export function projected(draft: Draft, x: Known, n: number): Candidate {
  const { program } = draft;
  const k = lastExtent(x);
  const dtype = draft.oneOf(weightTypes.filter((type) => fits(type, k)));
  const w = draft.weight(dtype, [n, k]);
  const by = 1 / (k * w.bound);
  const isRounded = x.error === 0 && fits(dtype, k) && dtype.includes("q") && draft.draw(2) === 0;
  const activations = isRounded ? "ggml" : "f32";
  const product = (ref: Value): Value => program.matmul(ref, w.ref, { transposeB: true, activations });
  const isBefore = !isRounded && draft.draw(2) === 0;
  return {
    bound: x.bound,
    error: x.error + (k + 2) * arithmetic * x.bound,
    record: () => (isBefore ? product(program.scale(x.ref, { by })) : program.scale(product(x.ref), { by })),
  };
}

const project: Family = (draft) => {
  const x = draft.float((value) => hasRows(value) && value.ref.spec.shape.length < 4);
  return x === undefined ? impossible : projected(draft, x, draft.oneOf([1, 3, 8, 32, 65]));
};

/** Two products of one tensor with weights of one type. One product gates the other. */
const gated: Family = (draft) => {
  const x = draft.float((value) => hasRows(value) && value.ref.spec.shape.length === 2);
  if (x === undefined) return impossible;
  const { program } = draft;
  const k = lastExtent(x);
  const dtype = draft.oneOf(weightTypes.filter((type) => fits(type, k)));
  const n = draft.oneOf([4, 32, 33]);
  const weights = [0, 1].map(() => draft.weight(dtype, [n, k]));
  const size = Math.max(...weights.map(({ bound }) => bound));
  const products = (): readonly Value[] => {
    const scaled = program.scale(x.ref, { by: 1 / (k * size) });
    return weights.map(({ ref }) => program.matmul(scaled, ref, { transposeB: true }));
  };
  const each = x.error + (k + 3) * arithmetic * x.bound;
  return {
    bound: x.bound ** 2,
    error: x.bound * (2.1 * each + transcendental) + each * each,
    record: () => {
      const [gate, up] = tupleOf(products(), 2);
      return program.mul(program.silu(gate), up);
    },
  };
};

/** Both operands are values, one of them symbolic along `n`. */
const product: Family = (draft) => {
  const a = draft.float((value) => hasRows(value) && value.ref.spec.shape.length === 2);
  const b = a && draft.float((value) => hasRows(value) && value.ref.spec.shape.length === 2 && lastExtent(value) === lastExtent(a));
  if (a === undefined || b === undefined) return impossible;
  const k = lastExtent(a);
  const bound = a.bound * b.bound;
  const error = a.error * b.bound + b.error * a.bound + (k + 2) * arithmetic * bound;
  const { program } = draft;
  return { bound, error, record: () => program.scale(program.matmul(a.ref, b.ref, { transposeB: true }), { by: 1 / k }) };
};

function isImage(value: Known): boolean {
  const { shape } = value.ref.spec;
  return shape.length === 4 && isConcreteFrom(shape, 1) && elementCount(shape.slice(1) as number[]) > 0;
}

const convolve2d: Family = (draft) => {
  const x = draft.float(isImage);
  if (x === undefined) return impossible;
  const [channels, height, width] = x.ref.spec.shape.slice(1) as [number, number, number];
  const groups = draft.oneOf([1, 2, channels].filter((n) => channels % n === 0));
  const pair = (low: number, high: number): [number, number] => [low + draft.draw(high - low + 1), low + draft.draw(high - low + 1)];
  const [kernel, stride, padding, dilation] = [pair(1, 3), pair(1, 2), pair(0, 2), pair(1, 2)];
  const reaches = [height, width].every(
    (extent, i) => extent + 2 * elementAt(padding, i) >= elementAt(dilation, i) * (elementAt(kernel, i) - 1) + 1,
  );
  if (!reaches) return impossible;
  const perGroup = channels / groups;
  const terms = perGroup * kernel[0] * kernel[1];
  const w = draft.weight("f32", [groups * (1 + draft.draw(3)), perGroup, ...kernel]);
  const { program } = draft;
  const call = (): Value => program.conv2d(x.ref, w.ref, { stride, padding, dilation, groups });
  const error = x.error + (terms + 2) * arithmetic * x.bound;
  return { bound: x.bound, error, record: () => program.scale(call(), { by: 1 / terms }) };
};

const convolve1d: Family = (draft) => {
  const x = draft.float(({ ref: { spec } }) => spec.shape.length === 3 && isConcreteFrom(spec.shape, 1) && !spec.shape.includes(0));
  if (x === undefined) return impossible;
  const [channels, length] = x.ref.spec.shape.slice(1) as [number, number];
  const groups = draft.oneOf([1, channels]);
  const [k, stride, padding, dilation] = [1 + draft.draw(4), 1 + draft.draw(2), draft.draw(3), 1 + draft.draw(2)];
  if (length + 2 * padding < dilation * (k - 1) + 1) return impossible;
  const terms = (channels / groups) * k;
  const w = draft.weight("f32", [groups * (1 + draft.draw(2)), channels / groups, k]);
  const { program } = draft;
  const call = (): Value => program.conv1d(x.ref, w.ref, { stride, padding, dilation, groups });
  const error = x.error + (terms + 2) * arithmetic * x.bound;
  return { bound: x.bound, error, record: () => program.scale(call(), { by: 1 / terms }) };
};

const pool: Family = (draft) => {
  const x = draft.float(isImage);
  if (x === undefined) return impossible;
  const [height, width] = x.ref.spec.shape.slice(2) as [number, number];
  const kernel: [number, number] = [1 + draft.draw(Math.min(3, height)), 1 + draft.draw(Math.min(3, width))];
  const padding: [number, number] = [draft.draw(Math.floor(kernel[0] / 2) + 1), draft.draw(Math.floor(kernel[1] / 2) + 1)];
  const stride = draft.oneOf([null, [1, 2] as const, [2, 1] as const]);
  const { program } = draft;
  if (draft.draw(2) === 0) return { ...x, record: () => program.maxPool2d(x.ref, { kernel, stride, padding }) };
  const countPadding = draft.draw(2) === 0;
  const error = x.error + (kernel[0] * kernel[1] + 2) * arithmetic * x.bound;
  return { bound: x.bound, error, record: () => program.avgPool2d(x.ref, { kernel, stride, padding, countPadding }) };
};

/** Norms, with an eps of 1 that bounds the slope where a row is nearly constant. */
const norm: Family = (draft) => {
  const { program } = draft;
  const kind = draft.draw(4);
  const isPerChannel = kind >= 2;
  const x = draft.float((value) => {
    const { shape } = value.ref.spec;
    return isPerChannel ? shape.length >= 2 && isConcreteFrom(shape, 1) && !shape.includes(0) : hasRows(value);
  });
  if (x === undefined) return impossible;
  const { shape } = x.ref.spec;
  const n = isPerChannel ? elementCount(shape.slice(1) as number[]) : lastExtent(x);
  const channels = isPerChannel ? (shape[1] as number) : n;
  const [w, bias] = [draft.weight("f32", [channels]), draft.weight("f32", [channels])];
  const bound = Math.sqrt(n) + 1;
  const error = 2 * Math.sqrt(n) * x.error + precisionOf("layerNorm", bound) + n * arithmetic * Math.max(1, x.bound);
  if (kind === 0) return { bound, error, record: () => program.layerNorm(x.ref, w.ref, { eps: 1, bias: bias.ref }) };
  if (kind === 1) return { bound, error, record: () => program.rmsNorm(x.ref, w.ref, { eps: 1 }) };
  if (kind === 2) {
    const groups = draft.oneOf([1, 2, channels].filter((count) => channels % count === 0));
    return { bound, error, record: () => program.groupNorm(x.ref, w.ref, { groups, eps: 1, bias: bias.ref }) };
  }
  const [mean, variance] = [draft.weight("f32", [channels]), draft.weight("f32", [channels], { low: 0, high: 1 })];
  return {
    bound: x.bound + 2,
    error: x.error + precisionOf("batchNorm", x.bound + 2),
    record: () => program.batchNorm(x.ref, mean.ref, variance.ref, w.ref, bias.ref, { eps: 1 }),
  };
};

/** A sum that is normed and also read by an op that cannot be the norm's epilogue. */
const residual: Family = (draft) => {
  const x = draft.float(hasRows);
  const y = x && draft.float(({ ref }) => sameShape(ref.spec.shape, x.ref.spec.shape));
  if (x === undefined || y === undefined) return impossible;
  const { program } = draft;
  const n = lastExtent(x);
  const [w, bias] = [draft.weight("f32", [n]), draft.weight("f32", [n])];
  const size = x.bound + y.bound;
  const off = x.error + y.error + arithmetic * size;
  const normed = Math.sqrt(n) + 1;
  const normOff = 2 * Math.sqrt(n) * off + precisionOf("layerNorm", normed) + n * arithmetic * Math.max(1, size);
  const isLayerNorm = draft.draw(2) === 0;
  const record = (): Value => {
    const sum = program.add(x.ref, y.ref);
    const norm = isLayerNorm ? program.layerNorm(sum, w.ref, { eps: 1, bias: bias.ref }) : program.rmsNorm(sum, w.ref, { eps: 1 });
    return program.mul(sum, program.mean(norm, { axis: -1, keepDims: true }));
  };
  return {
    bound: size * normed,
    error: off * normed + (size + off) * (normOff + n * arithmetic * normed) + arithmetic * size * normed,
    record,
  };
};

/** A concrete axis of at least one element, or undefined. */
export function concreteAxis(draft: Draft, shape: Shape): number | undefined {
  const axes = shape.flatMap((dim, axis) => (typeof dim === "number" && dim > 0 ? [axis] : []));
  return axes.length === 0 ? undefined : draft.oneOf(axes) - (draft.draw(2) === 0 ? shape.length : 0);
}

const reduce: Family = (draft) => {
  const { program } = draft;
  const x = draft.float();
  const axis = x && concreteAxis(draft, x.ref.spec.shape);
  if (x === undefined || axis === undefined) return impossible;
  const n = x.ref.spec.shape.at(axis) as number;
  const options = { axis, keepDims: draft.draw(2) === 0 };
  const sum = { bound: n * x.bound, error: n * x.error + n * arithmetic * n * x.bound };
  switch (draft.draw(9)) {
    case 0:
      return { ...sum, record: () => program.sum(x.ref, options) };
    case 1:
      return { ...sum, record: () => program.sumKahan(x.ref, options) };
    case 2:
      return { ...sum, record: () => program.normL1(x.ref, options) };
    case 3:
      return { ...x, record: () => program.normLinf(x.ref, options) };
    case 4:
      return { bound: x.bound, error: x.error + n * arithmetic * x.bound, record: () => program.mean(x.ref, options) };
    case 5:
      return { ...x, record: () => program.min(x.ref, options) };
    case 6:
      if (x.bound > 1) return impossible;
      return { bound: 1, error: n * x.error + n * arithmetic, record: () => program.prod(x.ref, options) };
    case 7:
      if (x.bound > 1) return impossible;
      return { bound: 1, error: n * x.error + n * arithmetic, record: () => program.cumprod(x.ref, { axis }) };
    default: {
      if (x.bound > 8) return impossible;
      const bound = 2 * x.bound + Math.log(n) + 1e-3;
      return { bound, error: 2 * x.error + 4 * transcendental * bound, record: () => program.logSoftmax(x.ref, { axis }) };
    }
  }
};

/** Moves elements of any dtype without changing them. */
const move: Family = (draft) => {
  const { program } = draft;
  const x = draft.pick(({ ref: { spec } }) => spec.shape.length > 0);
  if (x === undefined) return impossible;
  const { shape, dtype } = x.ref.spec;
  const rank = shape.length;
  const axis = concreteAxis(draft, shape);
  const like = (): Known => draft.pick(({ ref: { spec } }) => spec.dtype === dtype && sameShape(spec.shape, shape)) ?? x;
  const rows = (ref: Value, axis: number, count: number): Value =>
    program.constant(
      Int32Array.from({ length: count }, () => draft.draw(ref.spec.shape.at(axis) as number)),
      "i32",
      [count],
    );
  switch (draft.draw(9)) {
    case 0:
      return { ...x, record: () => program.transpose(x.ref, { axes: rotated(rank, 1 + draft.draw(rank)) }) };
    case 1: {
      if (axis === undefined) return impossible;
      const n = shape.at(axis) as number;
      const start = draft.draw(n);
      const step = 1 + draft.draw(2);
      return { ...x, record: () => program.slice(x.ref, { axis, start, end: start + 1 + draft.draw(n - start), step }) };
    }
    case 2: {
      const pads = shape.map((dim): [number, number] => (typeof dim === "number" ? [draft.draw(2), draft.draw(3)] : [0, 0]));
      return { ...x, record: () => program.pad(x.ref, { pads }) };
    }
    case 3: {
      if (axis === undefined) return impossible;
      const y = like();
      return {
        bound: Math.max(x.bound, y.bound),
        error: Math.max(x.error, y.error),
        record: () => program.concat([x.ref, y.ref], { axis }),
      };
    }
    case 4: {
      const y = like();
      const at = draft.draw(rank + 1);
      const both = { bound: Math.max(x.bound, y.bound), error: Math.max(x.error, y.error) };
      return rank > 4 ? impossible : { ...both, record: () => program.stack([x.ref, y.ref], { axis: at }) };
    }
    case 5:
      return axis === undefined
        ? impossible
        : { ...x, record: () => program.gather(x.ref, rows(x.ref, axis, 1 + draft.draw(4)), { axis }) };
    case 6: {
      if (axis === undefined) return impossible;
      const y = like();
      const count = 1 + draft.draw(3);
      const indices = rows(x.ref, axis, count);
      const updates = (): Value => program.gather(y.ref, rows(y.ref, axis, count), { axis });
      const isSum = (dtype === "f32" || dtype === "i32") && draft.draw(2) === 0;
      const bound = isSum ? x.bound + count * y.bound : Math.max(x.bound, y.bound);
      const error = isSum ? x.error + count * (y.error + arithmetic * bound) : Math.max(x.error, y.error);
      return { bound, error, record: () => program.scatter(x.ref, indices, updates(), { axis, mode: isSum ? "add" : "replace" }) };
    }
    case 7:
      if (rank > 4) return impossible;
      return { ...x, record: () => program.expand(program.reshape(x.ref, { shape: [1, ...shape] }), { shape: [2, ...shape] }) };
    default:
      return dtype === "f32" || dtype === "i32" ? { ...x, record: () => program.element(x.ref, { index: 0 }) } : impossible;
  }
};

function rotated(rank: number, by: number): readonly number[] {
  return Array.from({ length: rank }, (_, axis) => (axis + by) % rank);
}

/** Creates tensors without inputs, and picks rows of a stored table. */
const create: Family = (draft) => {
  const { program } = draft;
  const n = 1 + draft.draw(9);
  switch (draft.draw(5)) {
    case 0:
      return { bound: 1, error: 0, record: () => program.random({ shape: [n, 3], seed: draft.draw(1000) }) };
    case 1:
      return { bound: 1, error: 0, record: () => program.eye({ rows: n, columns: 4 }) };
    case 2:
      return { bound: 0.75, error: 0, record: () => program.full({ shape: [n], value: -0.75 }) };
    case 3:
      return { bound: n, error: 0, record: () => program.arange({ count: n, start: -2, dtype: draft.oneOf(["f32", "i32"]) }) };
    default: {
      const dtype = draft.oneOf(weightTypes);
      const table = draft.weight(dtype, [5, 256]);
      const ids = draft.pick(({ ref: { spec } }) => spec.dtype === "i32" && spec.shape.length < 3);
      if (ids === undefined) return impossible;
      const limit = (value: number): Value => program.constant(Int32Array.of(value), "i32", []);
      const inside = (): Value => program.minimum(program.maximum(ids.ref, limit(0)), limit(4));
      // Scale and minimum of a block are multiplied and added in f32: kernels may fuse the two.
      return { bound: table.bound, error: 4 * arithmetic * table.bound, record: () => program.embedding(table.ref, inside()) };
    }
  }
};

/** Ops on tensors of one kind, without state. */
export const tensorFamilies: readonly Family[] = [
  project,
  gated,
  project,
  product,
  convolve2d,
  convolve1d,
  pool,
  norm,
  residual,
  reduce,
  move,
  move,
  create,
];
