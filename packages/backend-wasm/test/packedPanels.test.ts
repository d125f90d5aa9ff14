import { sourceOf, uniform } from "@centella/conformance";
import { createProgram, type Plan, type Program } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { WasmBackend } from "../src/backend.ts";
import { wasm } from "../src/index.ts";
import type { WasmPlan } from "../src/plan/plan.ts";

/** Zero, one or several panels per quarter, whole or not; likewise for blocks of k. */
const columns = [1, 7, 8, 31, 32, 33, 64, 100, 300];
const depths = [1, 5, 512, 513, 1100];

describe.each([
  [1, true],
  [2, true],
  [1, false],
] as const)("f32 weights [k, n], %i threads, relaxed: %s", (threads, relaxed) => {
  let backend: WasmBackend;
  beforeAll(async () => {
    backend = (await wasm({ threads, relaxed }).open()) as WasmBackend;
  });
  afterAll(() => backend.dispose());

  async function weighted(m: number, k: number, n: number, b: Float32Array): Promise<Plan> {
    const program = createProgram();
    program.output("y", program.matmul(program.input("a", "f32", [m, k]), program.persistent("b", { dtype: "f32", shape: [k, n] })));
    const plan = await backend.compile(program);
    await plan.load("b", sourceOf(b));
    return plan;
  }

  test.each([1, 2, 3, 13])("%i rows: the right product, and the bits of a matrix that is no weight", async (m) => {
    for (const n of columns) {
      for (const k of depths) {
        const [a, b] = [uniform(1, m * k), uniform(2, k * n)];
        const plan = await weighted(m, k, n, b);
        expect((plan as WasmPlan).persistents.get("b")!.isPacked).toBe(true);
        const given = createProgram();
        given.output("y", given.matmul(given.input("a", "f32", [m, k]), given.input("b", "f32", [k, n])));
        const plain = await backend.compile(given);
        const y = (await plan.run({ a }).y!.data()) as Float32Array;
        expect(y).toEqual(await plain.run({ a, b }).y!.data());
        for (let j = 0; j < n; j++) {
          let want = 0;
          for (let i = 0; i < k; i++) want += a[(m - 1) * k + i]! * b[i * n + j]!;
          // Sums of k products below 1, in blocks of 512.
          expect(Math.abs(y[(m - 1) * n + j]! - want)).toBeLessThan(2e-5 * Math.sqrt(k));
        }
        expect(await plan.save("b")).toEqual(b);
        plan.dispose();
        plain.dispose();
      }
    }
  });

  test("a row's product does not depend on other rows", async () => {
    const [k, n] = [1100, 100];
    const [a, b] = [uniform(3, 13 * k), uniform(4, k * n)];
    const [many, one] = [await weighted(13, k, n, b), await weighted(1, k, n, b)];
    const all = await many.run({ a }).y!.data();
    for (const row of [0, 5, 12]) {
      expect(await one.run({ a: a.slice(row * k, (row + 1) * k) }).y!.data()).toEqual(all.slice(row * n, (row + 1) * n));
    }
  });
});

describe("which weights are packed in panels", () => {
  let backend: WasmBackend;
  beforeAll(async () => {
    backend = (await wasm().open()) as WasmBackend;
  });
  afterAll(() => backend.dispose());

  const spec = { dtype: "f32", shape: [12, 12] } as const;
  const product = (transposeB: boolean): Program => {
    const program = createProgram();
    program.output("y", program.matmul(program.input("a", "f32", [3, 12]), program.persistent("b", spec), { transposeB }));
    return program;
  };
  const sum = (): Program => {
    const program = createProgram();
    program.output("y", program.add(program.input("a", "f32", [12, 12]), program.persistent("b", spec)));
    return program;
  };
  const isPacked = (plan: Plan): boolean => (plan as WasmPlan).persistents.get("b")!.isPacked;

  test("weights that all programs use only as the right operand of products", async () => {
    expect(isPacked(await backend.compile(product(false)))).toBe(true);
    expect(isPacked(await backend.compile(product(true)))).toBe(false);
    expect(isPacked(await backend.compile(sum()))).toBe(false);
    const shared = await backend.compile(product(false), { sharedBy: [sum()] });
    expect(isPacked(shared)).toBe(false);
    const b = uniform(5, 144);
    await shared.load("b", sourceOf(b));
    const zeros = { a: new Float32Array(144) };
    expect(await (await backend.compile(sum(), { shareWith: shared })).run(zeros).y!.data()).toEqual(b);
  });

  test("a plan that cannot read them is refused, and says what to do", async () => {
    const first = await backend.compile(product(false));
    await expect(backend.compile(sum(), { shareWith: first })).rejects.toThrow(/persistent b: .*holds it in panels.* sharedBy/);
  });

  test("rows longer than one read", async () => {
    const [k, n] = [3, 2 ** 20 + 5];
    const program = createProgram();
    program.output("y", program.matmul(program.input("a", "f32", [1, k]), program.persistent("b", { dtype: "f32", shape: [k, n] })));
    const plan = await backend.compile(program);
    const b = uniform(6, k * n);
    await plan.load("b", sourceOf(b));
    expect(await plan.run({ a: new Float32Array([0, 1, 0]) }).y!.data()).toEqual(b.slice(n, 2 * n));
    expect(await plan.save("b")).toEqual(b);
  });
});
