import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { cases, type OpCases, type WrongCase } from "../../conformance/src/headless.ts";
import { CentellaError, createProgram, type OpName, type ParamsOf, type TensorSpec, type Value } from "../src/index.ts";
import { ops } from "../src/ops/index.ts";
import type { AnyOp } from "../src/program/op.ts";
import { referenceOf } from "../src/references.ts";
import { isConcrete, maxSpec } from "../src/spec.ts";

const names = Object.keys(ops) as OpName[];
const folder = new URL("../src/ops/", import.meta.url);

test("an op's name, key and file are spelled the same", () => {
  const files = readdirSync(folder).filter((file) => file.endsWith(".ts") && file !== "index.ts");
  const named = (suffix: string): readonly string[] => files.filter((file) => file.slice(file.indexOf("."), -3) === suffix).sort();
  expect(named("")).toEqual(names.map((name) => `${name}.ts`).sort());
  expect(
    readdirSync(new URL("../../conformance/src/cases/", import.meta.url))
      .filter((file) => file.endsWith(".ts"))
      .sort(),
  ).toEqual([...names, "index"].map((name) => `${name}.ts`).sort());
  const apart = names.filter((name) => ops[name].reference === undefined);
  expect(named(".reference")).toEqual(apart.map((name) => `${name}.reference.ts`).sort());
  for (const name of names) expect(referenceOf(ops[name]), name).toBeTypeOf("function");
  expect(names.map((name) => ops[name].name)).toEqual(names);
});

describe.each(names)("%s", (name) => {
  const op: AnyOp = ops[name];
  const { cases: list, wrong }: OpCases<OpName> = cases[name];

  test("has numpy goldens and cases of its own, with unique names", () => {
    expect(list.filter(({ golden }) => golden !== undefined).length).toBeGreaterThan(0);
    expect(list.filter(({ golden }) => golden === undefined).length).toBeGreaterThan(0);
    expect(new Set(list.map((one) => one.name)).size).toBe(list.length);
  });

  test("costs are finite, not negative, and 0 flops only where nothing is computed", () => {
    for (const { inputs, optional, params } of list) {
      const specs = [...inputs, ...(op.optionalInputs ?? []).map((input) => optional?.[input])];
      const complete = { ...op.defaults, ...params };
      const { flops, bytes } = op.cost(specs, complete, maxSpec(op.infer(specs, complete)));
      expect(Number.isSafeInteger(bytes) && bytes >= 0, `bytes ${bytes}`).toBe(true);
      expect(Number.isFinite(flops) && flops >= 0, `flops ${flops}`).toBe(true);
    }
  });

  test("a symbolic extent infers the same shape as its number, or is refused with a message", () => {
    for (const { inputs, optional, params, name: caseName } of list) {
      const complete = { ...op.defaults, ...params };
      const specs = [...inputs, ...(op.optionalInputs ?? []).map((input) => optional?.[input])];
      const concrete = maxSpec(op.infer(specs, complete));
      for (const extent of new Set(specs.flatMap((spec) => spec?.shape ?? []).filter((dim) => dim > 1))) {
        const dim = { name: "T", max: extent };
        const symbolic = specs.map((spec) => spec && { ...spec, shape: spec.shape.map((each) => (each === extent ? dim : each)) });
        try {
          expect(maxSpec(op.infer(symbolic, complete)), `${caseName}, ${extent}`).toEqual(concrete);
        } catch (error) {
          if (!(error instanceof CentellaError)) throw error;
          expect(error.message.startsWith(`${name}: expected `), error.message).toBe(true);
        }
      }
    }
  });

  test.each([...wrong])("refuses: $name", (one: WrongCase) => {
    const { error, message } = one;
    const thrown = thrownBy(() => record(op, one));
    expect(thrown).toMatchObject({ name: error });
    expect(thrown?.message).toMatch(message);
    expect(thrown?.message.startsWith(`${name}: `), thrown?.message).toBe(true);
  });
});

function record(op: AnyOp, { inputs, optional = {}, params, error, name }: WrongCase): Value {
  const program = createProgram();
  const isWritten = (i: number): boolean => op.writes === i && error !== "ProgramError";
  const refs = inputs.map((spec, i) =>
    isWritten(i) && isConcrete(spec) ? program.persistent(String(i), spec) : program.input(String(i), spec.dtype, spec.shape),
  );
  const named = Object.fromEntries(Object.entries(optional).map(([key, spec]) => [key, program.input(key, spec.dtype, spec.shape)]));
  const method = program[op.name as OpName] as (...args: object[]) => Value;
  expect(method, name).toBeTypeOf("function");
  return method(...(op.variadic === true ? [refs] : refs), { ...params, ...named });
}

function thrownBy(work: () => unknown): Error | undefined {
  try {
    work();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  return undefined;
}

test("parameters are typed by op", () => {
  const attention: ParamsOf<"attention"> = { scale: 1, blockSize: 4, causal: true, window: 0, softcap: 0, alibi: 0, activations: "f32" };
  const none: ParamsOf<"relu"> = {};
  expect([attention.scale, Object.keys(none)]).toEqual([1, []]);
  const program = createProgram();
  const x = program.input("x", "f32", [2]);
  // @ts-expect-error: max is required
  expect(() => program.clip(x, { min: 0 })).toThrow(/max/);
  // @ts-expect-error: scale needs its parameters
  expect(() => program.scale(x)).toThrow(/by/);
  // @ts-expect-error: relu has no parameters
  expect(() => program.relu(x, { slope: 1 })).toThrow(/slope/);
});

test("elementwise ops, reductions and norms take symbolic extents", () => {
  const T = { name: "T", max: 8 };
  const x: TensorSpec = { dtype: "f32", shape: [T, 4] };
  const row: TensorSpec = { dtype: "f32", shape: [4] };
  const infer = (op: AnyOp, inputs: readonly TensorSpec[], params: object = {}): TensorSpec =>
    op.infer(inputs, { ...op.defaults, ...params });
  expect(infer(ops.less, [x, row])).toEqual({ dtype: "bool", shape: [T, 4] });
  expect(infer(ops.fma, [x, row, { dtype: "f32", shape: [T, 1] }])).toEqual(x);
  expect(infer(ops.variance, [x], { axis: 0 })).toEqual(row);
  expect(infer(ops.cumsum, [x], { axis: 0 })).toEqual(x);
  expect(infer(ops.layerNorm, [x, row], { eps: 0 })).toEqual(x);
  expect(infer(ops.transpose, [x])).toEqual({ dtype: "f32", shape: [4, T] });
  expect(infer(ops.concat, [x, x], { axis: 1 })).toEqual({ dtype: "f32", shape: [T, 8] });
  expect(infer(ops.gather, [row, { dtype: "i32", shape: [T] }])).toEqual({ dtype: "f32", shape: [T] });
  expect(infer(ops.sort, [x], { axis: 0 })).toEqual(x);
  expect(infer(ops.topK, [x], { k: 2 })).toEqual({ dtype: "f32", shape: [T, 2] });
  expect(infer(ops.quantize, [{ dtype: "f32", shape: [T, 32] }])).toEqual({ dtype: "q8_0", shape: [T, 32] });
});
