import type { DType, ScalarType, Value } from "@centella/core";
import { sameShape } from "@centella/core/backend";
import { isHalf } from "@centella/quant";
import { concreteAxis, type Family, lastExtent } from "./randomFamilies.ts";
import { arithmetic, type Candidate, impossible, type Known } from "./randomOps.ts";

// Ops whose results jump: a small error of an input can become a large one. They only take exact values.

const blockTypes = ["q8_0", "q4_0", "q4_1", "q5_0"] as const;
const wholeTypes: readonly DType[] = ["i32", "u32", "i8", "u8"];

/** For integers: values beyond 32 bits wrap. */
function whole(bound: number, record: () => Value): Candidate {
  return { bound: Math.min(bound, 2 ** 31), error: 0, record };
}

const order: Family = (draft) => {
  const { program } = draft;
  const kind = draft.draw(7);
  const givesIndices = kind < 4;
  const x = givesIndices ? draft.exact() : draft.float();
  const axis = x && concreteAxis(draft, x.ref.spec.shape);
  if (x === undefined || axis === undefined) return impossible;
  const n = x.ref.spec.shape.at(axis) as number;
  const k = draft.draw(n + 1);
  const isLargest = draft.draw(2) === 0;
  switch (kind) {
    case 0:
      return whole(n, () => program.argmax(x.ref, { axis }));
    case 1:
      return whole(n, () => program.argmin(x.ref, { axis }));
    case 2:
      return whole(n, () => program.argsort(x.ref, { axis, descending: isLargest }));
    case 3:
      return whole(n, () => program.topKIndices(x.ref, { k, axis, largest: isLargest }));
    case 4:
      return { ...x, record: () => program.topK(x.ref, { k, axis, largest: isLargest }) };
    case 5:
      return { ...x, record: () => program.sort(x.ref, { axis, descending: isLargest }) };
    default: {
      const by = draft.exact(({ ref: { spec } }) => sameShape(spec.shape, x.ref.spec.shape));
      if (by === undefined) return impossible;
      return { ...x, record: () => program.takeAlongAxis(x.ref, program.argsort(by.ref, { axis }), { axis }) };
    }
  }
};

const integers: Family = (draft) => {
  const { program } = draft;
  const a = draft.pick(({ ref: { spec } }) => spec.dtype === "i32");
  const b =
    a && draft.pick(({ ref: { spec } }) => spec.dtype === "i32" && (spec.shape.length === 0 || sameShape(spec.shape, a.ref.spec.shape)));
  if (a === undefined || b === undefined) return impossible;
  switch (draft.draw(6)) {
    case 0:
      return whole(a.bound + b.bound, () => program.add(a.ref, b.ref));
    case 1:
      return whole(a.bound + b.bound, () => program.sub(a.ref, b.ref));
    case 2:
      return whole(a.bound * b.bound, () => program.mul(a.ref, b.ref));
    case 3:
      return whole(Math.max(a.bound, b.bound), () => program.minimum(a.ref, b.ref));
    case 4:
      return whole(Math.max(a.bound, b.bound), () => program.maximum(a.ref, b.ref));
    default: {
      const constant = (value: number) => program.constant(Int32Array.of(value), "i32", [1]);
      const [low, high] = [constant(-20), constant(20)];
      return whole(20, () => program.minimum(program.maximum(a.ref, low), high));
    }
  }
};

const comparisons = ["equal", "notEqual", "less", "lessEqual", "greater", "greaterEqual"] as const;
const connectives = ["logicalAnd", "logicalOr", "logicalXor"] as const;

const logic: Family = (draft) => {
  const { program } = draft;
  const isLike =
    ({ ref }: Known) =>
    ({ ref: { spec } }: Known): boolean =>
      sameShape(spec.shape, ref.spec.shape);
  const kind = draft.draw(5);
  if (kind < 2) {
    const a = draft.pick(({ ref: { spec }, error }) => spec.dtype !== "bool" && error === 0);
    const b = a && draft.pick((value) => value.ref.spec.dtype === a.ref.spec.dtype && value.error === 0 && isLike(a)(value));
    return a === undefined || b === undefined ? impossible : whole(1, () => program[draft.oneOf(comparisons)](a.ref, b.ref));
  }
  const p = draft.pick(({ ref: { spec } }) => spec.dtype === "bool");
  if (p === undefined) return impossible;
  if (kind === 2) {
    const q = draft.pick((value) => value.ref.spec.dtype === "bool" && isLike(p)(value)) ?? p;
    return whole(1, () => (draft.draw(4) === 0 ? program.logicalNot(p.ref) : program[draft.oneOf(connectives)](p.ref, q.ref)));
  }
  if (kind === 3) {
    const axis = concreteAxis(draft, p.ref.spec.shape);
    return axis === undefined ? impossible : whole(1, () => program[draft.oneOf(["any", "all"] as const)](p.ref, { axis }));
  }
  const a = draft.pick(isLike(p));
  const b = a && draft.pick((value) => value.ref.spec.dtype === a.ref.spec.dtype && isLike(p)(value));
  if (a === undefined || b === undefined) return impossible;
  return { bound: Math.max(a.bound, b.bound), error: Math.max(a.error, b.error), record: () => program.where(p.ref, a.ref, b.ref) };
};

const casts: Family = (draft) => {
  const { program } = draft;
  const kind = draft.draw(6);
  if (kind < 2) {
    const x = draft.exact();
    if (x === undefined) return impossible;
    const dtype: ScalarType = draft.oneOf(["f16", "bf16", "i32", "i8", "u8", "u32", "bool"] as const);
    const large = (): Value => program.scale(x.ref, { by: 64 });
    if (!isHalf(dtype)) return whole(64 * x.bound, () => program.cast(large(), { dtype }));
    const back = (ref: Value): Value => (draft.draw(2) === 0 ? program.cast(ref, { dtype: "f32" }) : program.dequantize(ref));
    return { bound: 1.01 * x.bound, error: 0, record: () => back(program.cast(x.ref, { dtype })) };
  }
  if (kind < 4) {
    const x = draft.pick(({ ref: { spec } }) => wholeTypes.includes(spec.dtype) || spec.dtype === "bool");
    if (x === undefined) return impossible;
    if (kind === 2) return whole(2 ** 31, () => program.cast(x.ref, { dtype: draft.oneOf(["i32", "u8", "i8", "u32"] as const) }));
    // All backends round alike here: one integer to f32, times a power of 2.
    const by = 2 ** -Math.max(0, Math.ceil(Math.log2(Math.max(1, x.bound))));
    return { bound: 2 * x.bound * by, error: 0, record: () => program.scale(program.cast(x.ref, { dtype: "f32" }), { by }) };
  }
  if (kind === 4) {
    const x = draft.exact(({ ref: { spec } }) => typeof spec.shape.at(-1) === "number" && (spec.shape.at(-1) as number) % 32 === 0);
    if (x === undefined || lastExtent(x) === 0) return impossible;
    const dtype = draft.oneOf(blockTypes);
    return {
      bound: 2 * x.bound,
      error: 8 * arithmetic * x.bound,
      record: () => program.dequantize(program.quantize(x.ref, { dtype })),
    };
  }
  const x = draft.exact();
  const y = x && draft.exact(({ ref: { spec } }) => sameShape(spec.shape, x.ref.spec.shape));
  if (x === undefined || y === undefined) return impossible;
  const name = draft.oneOf(["round", "floor", "ceil", "trunc", "sign", "abs", "neg"] as const);
  if (draft.draw(4) === 0) return { ...x, record: () => program.copysign(x.ref, y.ref) };
  return { bound: x.bound + 1, error: 0, record: () => program[name](x.ref) };
};

/** Choice from a row. Its options come from a greatest index, which is a whole number. */
const choose: Family = (draft) => {
  const { program } = draft;
  const x = draft.exact(({ ref: { spec } }) => spec.shape.length > 0 && typeof spec.shape.at(-1) === "number" && spec.shape.at(-1) !== 0);
  if (x === undefined) return impossible;
  const n = lastExtent(x);
  return whole(n, () => {
    const index = program.argmax(x.ref, { axis: -1 });
    const seed = program.stack([index, index], { axis: -1 });
    const share = program.scale(program.cast(index, { dtype: "f32" }), { by: 0.25 });
    return program.sample(x.ref, index, seed, share, index, share, share);
  });
};

/** Families of integers, bools, casts and indices. */
export const jumpFamilies: readonly Family[] = [order, integers, integers, logic, logic, casts, casts, choose];
