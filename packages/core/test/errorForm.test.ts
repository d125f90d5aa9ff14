import { expect, test } from "vitest";
import { cases } from "../../conformance/src/headless.ts";
import { CentellaError, createProgram, type Dim, type DType, type OpName, type TensorSpec, type Value } from "../src/index.ts";
import { ops } from "../src/ops/index.ts";
import type { AnyOp } from "../src/program/op.ts";

/** A call as a user might write it: specs of tensors, or values that are not tensors. */
interface Call {
  readonly what: string;
  readonly tensors: readonly unknown[];
  readonly params: Readonly<Record<string, unknown>>;
}

const dtypes: readonly DType[] = ["f32", "f16", "i32", "u8", "bool", "q8_0"];
const wrongValues: readonly unknown[] = [
  Number.NaN,
  -1,
  1.5,
  2 ** 53,
  -(2 ** 40),
  Number.POSITIVE_INFINITY,
  "none",
  null,
  true,
  [],
  [1, 2, 3],
  {},
];

/** Mistakes in one argument of a call. */
function mutations(op: AnyOp, tensors: readonly TensorSpec[], params: Readonly<Record<string, unknown>>): readonly Call[] {
  const calls: Call[] = [];
  const withTensor = (i: number, what: string, tensor: unknown): void => {
    calls.push({ what: `${op.inputs[i] ?? op.inputs[0]} ${what}`, tensors: tensors.with(i, tensor as TensorSpec), params });
  };
  const T: Dim = { name: "T", max: 5 };
  tensors.forEach((spec, i) => {
    for (const nothing of [undefined, null, 3, "x", new Float32Array(3)]) withTensor(i, `is ${String(nothing)}`, { not: nothing });
    for (const dtype of dtypes) if (dtype !== spec.dtype) withTensor(i, `in ${dtype}`, { ...spec, dtype });
    withTensor(i, "with an axis more", { ...spec, shape: [1, ...spec.shape] });
    withTensor(i, "with an axis behind", { ...spec, shape: [...spec.shape, 1] });
    withTensor(i, "as a scalar", { ...spec, shape: [] });
    spec.shape.forEach((dim, axis) => {
      withTensor(i, `without axis ${axis}`, { ...spec, shape: spec.shape.toSpliced(axis, 1) });
      withTensor(i, `longer along ${axis}`, { ...spec, shape: spec.shape.with(axis, (dim as number) + 1) });
      withTensor(i, `empty along ${axis}`, { ...spec, shape: spec.shape.with(axis, 0) });
      withTensor(i, `symbolic along ${axis}`, { ...spec, shape: spec.shape.with(axis, T) });
      withTensor(i, `huge along ${axis}`, { ...spec, shape: spec.shape.with(axis, 2 ** 52) });
    });
  });
  calls.push({ what: "a tensor less", tensors: tensors.slice(0, -1), params });
  const names = new Set([...(op.required ?? []).map(String), ...Object.keys(op.defaults), ...Object.keys(params)]);
  for (const name of names) {
    for (const value of wrongValues)
      calls.push({ what: `${name} ${typeof value} ${String(value)}`, tensors, params: { ...params, [name]: value } });
  }
  for (const name of op.required ?? []) {
    const { [String(name)]: _, ...rest } = params;
    calls.push({ what: `${String(name)} left out`, tensors, params: rest });
  }
  for (const name of op.optionalInputs ?? []) {
    for (const value of [3, "x", { not: 3 }])
      calls.push({ what: `${name} ${JSON.stringify(value)}`, tensors, params: { ...params, [name]: value } });
  }
  calls.push({ what: "an unknown option", tensors, params: { ...params, colour: 1 } });
  return calls;
}

/** Describes the defect of an error's form; undefined for a well-formed error. */
function complaint(op: AnyOp, { what, tensors, params }: Call): string | undefined {
  const program = createProgram();
  const T = program.dim("T", 5);
  try {
    const handles = tensors.map((tensor, i) => {
      if (typeof tensor === "object" && tensor !== null && "not" in tensor) return tensor.not as Value;
      const { dtype, shape } = tensor as TensorSpec;
      const own = shape.map((dim) => (typeof dim === "number" ? dim : T));
      const isPersistent = op.writes === i && own.every((dim) => typeof dim === "number");
      return isPersistent ? program.persistent(`p${i}`, { dtype, shape: own as number[] }) : program.input(`x${i}`, dtype, own);
    });
    // The test makes calls that the types refuse.
    const method = program[op.name as OpName] as unknown as (...args: unknown[]) => Value;
    if (op.variadic === true) method(handles, params);
    else method(...handles, ...(handles.length < op.inputs.length ? [] : [params]));
    return undefined;
  } catch (error) {
    if (!(error instanceof CentellaError)) return `${op.name}, ${what}: ${String(error)}`;
    // The declaration already refuses specs that no tensor can have.
    const where = /^(input|persistent) /.test(error.message) ? "\\w+ \\w+" : op.name;
    return new RegExp(`^${where}: expected .+, got .+; .+`, "s").test(error.message) ? undefined : `${op.name}, ${what}: ${error.message}`;
  }
}

test.each(Object.keys(ops) as OpName[])(
  "%s: whatever is wrong with a call, the message names the op, what it expected, what came and what to do",
  (name) => {
    const op: AnyOp = ops[name];
    const complaints = cases[name].cases.slice(0, 2).flatMap(({ inputs, params = {} }) => {
      const specs = inputs.map(({ dtype, shape }): TensorSpec => ({ dtype, shape }));
      return mutations(op, specs, params as Record<string, unknown>).flatMap((call) => complaint(op, call) ?? []);
    });
    expect([...new Set(complaints)]).toEqual([]);
  },
);
