import { type Backend, reference, type Tensor } from "@centella/core";
import { type AnyOp, ops } from "@centella/core/backend";
import { describe, expect, test } from "vitest";
import { compareToReference, contentsOf, runConformance } from "../src/index.ts";

const results = async (backend: Backend, filter: (id: string) => boolean) => {
  const all = [];
  for await (const result of runConformance(backend, { filter })) all.push(result);
  return all;
};

describe("runConformance", () => {
  test("says which test failed, where, and by how much", async () => {
    const backend = await reference().open();
    const wrong: AnyOp = { ...ops.relu, reference: (inputs, _params, y) => y.data.set(inputs[0]!.data.map((v) => Math.abs(v))) };
    const compile = backend.compile.bind(backend);
    backend.compile = (program, options) =>
      compile({ ...program, nodes: program.nodes.map((node) => (node.op.name === "relu" ? { ...node, op: wrong } : node)) }, options);
    const found = await results(backend, (id) => id.startsWith("relu: ") || id.startsWith("tanh: "));
    const failed = found.filter(({ status }) => status === "failed");
    expect(failed.map(({ id }) => id)).toContain("relu: golden: relu");
    expect(failed.every(({ id }) => id.startsWith("relu: "))).toBe(true);
    expect(failed.find(({ id }) => id === "relu: no multiple of a vector")?.message).toMatch(
      /reference relu: no multiple of a vector: \d+ of 105 elements differ; worst at \[\d, \d, \d\]: got 0\.\d+, want 0, error 0\.\d+, limit 0, seed \d+/,
    );
  });

  test("a missing kernel skips the test with the reason", async () => {
    const backend: Backend = await reference().open();
    backend.unsupported = ({ name }: AnyOp) => (name === "relu" ? "no relu kernel" : undefined);
    const found = await results(backend, (id) => id.startsWith("relu: "));
    expect(found.every(({ status, message }) => status === "skipped" && message === "no relu kernel")).toBe(true);
  });

  test("memory that is not given back fails", async () => {
    const backend = await reference().open();
    const leaked: Tensor[] = [];
    const compile = backend.compile.bind(backend);
    backend.compile = async (program, options) => {
      const plan = await compile(program, options);
      const run = plan.run.bind(plan);
      plan.run = (inputs, runOptions) => {
        leaked.push(...Object.values(run(inputs, runOptions)));
        return run(inputs, runOptions);
      };
      return plan;
    };
    const [first] = await results(backend, (id) => id === "relu: more than one workgroup");
    expect(first).toMatchObject({ status: "failed" });
    expect(first?.message).toMatch(/expected 0 bytes of tensors after the test, got 4148/);
    expect(leaked.length).toBe(1);
  });
});

describe("compareToReference", () => {
  const compare = (got: number[], want: number[], rtol = 0, atol = 0) =>
    compareToReference({ what: "x", spec: { dtype: "f32", shape: [want.length] }, got, want, tolerance: { rtol, atol } });

  test.each([
    ["equal", [1, 2], [1, 2]],
    ["NaN and NaN", [Number.NaN], [Number.NaN]],
    ["signed zeros", [-0], [0]],
    ["infinities", [Number.POSITIVE_INFINITY], [Number.POSITIVE_INFINITY]],
  ])("passes: %s", (_name, got, want) => {
    expect(compare(got, want)).toBeUndefined();
  });

  test.each([
    ["NaN for a number", [Number.NaN], [1]],
    ["a number for NaN", [1], [Number.NaN]],
    ["a number for an infinity", [1e38], [Number.POSITIVE_INFINITY]],
    ["the other infinity", [Number.NEGATIVE_INFINITY], [Number.POSITIVE_INFINITY]],
    ["an infinity for a number", [Number.POSITIVE_INFINITY], [1]],
    ["too few elements", [1], [1, 2]],
    ["beyond the limit", [1.02], [1]],
  ])("fails: %s", (_name, got, want) => {
    expect(compare(got, want, 0.01, 0.001)).toBeTypeOf("string");
  });

  test("names the worst element", () => {
    expect(compare([1, 5, 3], [1, 2, 2.9])).toBe("x: 2 of 3 elements differ; worst at [1]: got 5, want 2, error 3, limit 0");
  });
});

test("seeded inputs are the same every time and differ by seed", () => {
  const tensor = { dtype: "q4_K", shape: [2, 256] } as const;
  expect(contentsOf(tensor, 1).stored).toEqual(contentsOf(tensor, 1).stored);
  expect(contentsOf(tensor, 1).stored).not.toEqual(contentsOf(tensor, 2).stored);
  expect(contentsOf({ dtype: "f16", shape: [1], values: [0.1] }, 1).decoded[0]).toBe(0.0999755859375);
});
