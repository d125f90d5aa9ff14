import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type AnyOp, createProgram, isConcrete, maxSpec, type OpName, ops, type ParamsOf, type Ref } from "../src/index.ts";
import { cases, type OpCases, type WrongCase } from "../src/testing/index.ts";

const names = Object.keys(ops) as OpName[];
const folder = new URL("../src/ops/", import.meta.url);

test("an op's name, key and file are spelled the same", () => {
  const files = readdirSync(folder).filter((file) => file.endsWith(".ts") && file !== "index.ts");
  expect(files.filter((file) => !file.endsWith(".cases.ts")).sort()).toEqual(names.map((name) => `${name}.ts`).sort());
  expect(files.filter((file) => file.endsWith(".cases.ts")).sort()).toEqual(names.map((name) => `${name}.cases.ts`).sort());
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

  test.each([...wrong])("refuses: $name", (one: WrongCase) => {
    const { error, message } = one;
    const thrown = thrownBy(() => record(op, one));
    expect(thrown).toMatchObject({ name: error });
    expect(thrown?.message).toMatch(message);
    expect(thrown?.message.startsWith(`${name}: `), thrown?.message).toBe(true);
  });
});

function record(op: AnyOp, { inputs, optional = {}, params, error, name }: WrongCase): Ref {
  const program = createProgram();
  const isWritten = (i: number): boolean => op.writes === i && error !== "ProgramError";
  const refs = inputs.map((spec, i) =>
    isWritten(i) && isConcrete(spec) ? program.persistent(String(i), spec) : program.input(String(i), spec.dtype, spec.shape),
  );
  const named = Object.fromEntries(Object.entries(optional).map(([key, spec]) => [key, program.input(key, spec.dtype, spec.shape)]));
  const method = program[op.name as OpName] as (...args: object[]) => Ref;
  expect(method, name).toBeTypeOf("function");
  return method(...refs, { ...params, ...named });
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
  const attention: ParamsOf<"attention"> = { scale: 1, blockSize: 4, causal: true, window: 0, softcap: 0, alibi: 0 };
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
