import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { type Backend, createProgram, type DType, type Plan, type Program, type TypedArray, type Value } from "@centella/core";
import type { ProgramGraph } from "@centella/core/backend";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { wasm } from "../src/index.ts";
import { targets } from "./shared.ts";

/** Compares bytes: matchers take seconds for arrays of this size. */
function isSame(a: TypedArray, b: TypedArray): boolean {
  return Buffer.from(a.buffer, a.byteOffset, a.byteLength).equals(Buffer.from(b.buffer, b.byteOffset, b.byteLength));
}

const cases = targets.flatMap(({ relaxed }) => [1, 2].map((threads) => ({ relaxed, threads })));

describe.each(cases)(
  "products of one tensor in one step give the bits of products one by one, relaxed: $relaxed, threads: $threads",
  (options) => {
    let backend: Backend;
    beforeAll(async () => {
      backend = await wasm(options).open();
    });
    afterAll(() => backend.dispose());

    const most = 40;
    const k = 512;
    type Product = readonly [name: string, dtype: DType, rows: number];

    async function run(program: ProgramGraph, weights: Record<string, TypedArray>, inputs: Record<string, TypedArray>) {
      const plan = await backend.compile(program);
      for (const name of program.persistents.keys()) await plan.load(name, sourceOf(weights[name]!));
      const now = plan.runSync!(inputs);
      const later = plan.run(inputs);
      for (const [name, tensor] of Object.entries(later)) expect(isSame(await tensor.data(), now[name]!), name).toBe(true);
      plan.dispose();
      return now;
    }

    /**
     * Outputs of all products in one program, and of each in its own program. `finish` gets their results as inputs.
     */
    async function compare(
      products: readonly Product[],
      activations: "ggml" | "f32",
      transposeB: boolean,
      finish: (program: Program, made: Readonly<Record<string, Value>>, residual: Value) => Readonly<Record<string, Value>>,
    ): Promise<string> {
      const record = (program: Program, [name, dtype, rows]: Product, x: Value): Value =>
        program.matmul(x, program.persistent(name, { dtype, shape: transposeB ? [rows, k] : [k, rows] }), { transposeB, activations });
      const weights = Object.fromEntries(
        products.map(([name, dtype, rows], i) => [name, contentsOf({ dtype, shape: transposeB ? [rows, k] : [k, rows] }, i).stored]),
      );
      let listing = "";
      for (const rows of [1, 3, most]) {
        const inputs = { x: uniform(1, rows * k), residual: uniform(2, rows * products[0]![2]) };
        const together = createProgram();
        const T = together.dim("T", most);
        const x = together.input("x", "f32", [T, k]);
        const residual = together.input("residual", "f32", [T, products[0]![2]]);
        const made = Object.fromEntries(products.map((product) => [product[0], record(together, product, x)]));
        const results = finish(together, made, residual);
        for (const [name, ref] of Object.entries(results)) together.output(name, ref);
        listing = together.explain(backend);

        const alone: Record<string, TypedArray> = { residual: inputs.residual };
        for (const product of products) {
          const program = createProgram();
          program.output("y", record(program, product, program.input("x", "f32", [program.dim("T", most), k])));
          alone[product[0]] = (await run(program, weights, { x: inputs.x })).y!;
        }
        const finishing = createProgram();
        const U = finishing.dim("T", most);
        const given = Object.fromEntries(products.map(([name, , n]) => [name, finishing.input(name, "f32", [U, n])]));
        const finished = finish(finishing, given, finishing.input("residual", "f32", [U, products[0]![2]]));
        for (const [name, ref] of Object.entries(finished)) finishing.output(name, ref);
        const want = await run(finishing, {}, alone);
        const got = await run(together, weights, inputs);
        for (const name of Object.keys(results)) expect(isSame(got[name]!, want[name]!), `${name}, T = ${rows}`).toBe(true);
      }
      return listing;
    }
    const bias = (program: Program, n: number): Value => program.constant(uniform(9, n), "f32", [n]);

    test.each(["ggml", "f32"] as const)("queries, keys and values of several types, %s activations", async (activations) => {
      const products = [
        ["q", "q4_K", 300],
        ["k", "q4_K", 100],
        ["v", "q6_K", 100],
        ["w", "q8_0", 36],
        ["f", "f16", 33],
      ] as const;
      const listing = await compare(products, activations, true, (_, made) => made);
      expect(listing).toMatch(/^1 steps/);
    });

    test.each([
      ["q4_0", "ggml", true],
      ["q6_K", "f32", true],
      ["f32", "f32", true],
      ["f16", "f32", false],
    ] as const)("a gated product, and biases: %s, %s activations, b as [n, k]: %s", async (dtype, activations, transposeB) => {
      // Larger than one call with two threads.
      const gated = [
        ["gate", dtype, 1100],
        ["up", dtype, 1100],
      ] as const;
      const one = await compare(gated, activations, transposeB, (p, { gate, up }, residual) => ({
        y: p.add(p.mul(p.silu(gate!), p.add(up!, bias(p, 1100))), residual),
      }));
      expect(one).toMatch(/^1 steps/);
      const biased = [
        ["q", dtype, 132],
        ["k", dtype, 68],
      ] as const;
      const two = await compare(biased, activations, transposeB, (p, { q, k: key }) => ({
        q: p.add(q!, bias(p, 132)),
        k: p.scale(p.add(key!, bias(p, 68)), { by: 3 }),
      }));
      expect(two).toMatch(/^1 steps/);
      const single = await compare([["o", dtype, 640]], activations, transposeB, (p, { o }, residual) => ({ y: p.add(o!, residual) }));
      expect(single).toMatch(/^1 steps/);
    });
  },
);

test("unsupported groups give a reason and are computed call by call", async () => {
  const backend = await wasm({ threads: 1 }).open();
  const listing = (record: (program: Program, x: Value) => Value): string => {
    const program = createProgram();
    program.output("y", record(program, program.input("x", "f32", [4, 4])));
    return program.explain(backend);
  };
  const w = (program: Program, name: string, shape: readonly number[] = [4, 4]): Value => program.input(name, "f32", shape);
  expect(listing((p, x) => p.relu(p.matmul(x, w(p, "w"), { transposeA: true })))).toContain("transposed tensors are not fused");
  expect(listing((p, x) => p.relu(p.matmul(x, w(p, "w", [2, 4, 4]))))).toContain("products of batches");
  expect(listing((p, x) => p.cast(p.matmul(x, w(p, "w")), { dtype: "i32" }))).toContain("i32 results after a product");
  await backend.dispose();
});

describe.each([1, 2])("row ops with epilogues or prologues give the bits of separate calls, threads: %i", (threads) => {
  const n = 70;
  type Recording = (program: Program, x: Value, y: Value, w: Value, column: Value) => Value;
  test.each<[string, Recording, Recording]>([
    ["rmsNorm + y", (p, x, _y, w) => p.rmsNorm(x, w, { eps: 1e-5 }), (p, x, y) => p.add(x, y)],
    ["layerNorm, scaled by rows", (p, x, _y, w) => p.layerNorm(x, w, { eps: 1e-5, bias: w }), (p, x, _y, _w, c) => p.mul(p.silu(x), c)],
    ["softmax", (p, x) => p.softmax(x), (p, x, _y, w) => p.sub(x, w)],
    ["logSoftmax", (p, x) => p.logSoftmax(x), (p, x, y, w) => p.mul(p.add(x, w), y)],
    ["rmsNorm of a sum", (p, x, y) => p.add(x, y), (p, x, _y, w) => p.rmsNorm(x, w, { eps: 1e-5 })],
    ["softmax of a sum", (p, x, y) => p.add(x, y), (p, x) => p.softmax(x)],
    ["layerNorm of a product", (p, x, _y, _w, c) => p.mul(p.tanh(x), c), (p, x, _y, w) => p.layerNorm(x, w, { eps: 1e-5, bias: w })],
  ])("%s", async (_name, first, second) => {
    const backend = await wasm({ threads }).open();
    const compile = (record: Recording, kept?: Recording): Promise<Plan> => {
      const program = createProgram();
      const T = program.dim("T", 3000);
      const [x, y] = [program.input("x", "f32", [T, 2, n]), program.input("y", "f32", [T, 2, n])];
      const rest = [y, program.input("w", "f32", [n]), program.input("column", "f32", [T, 1, 1])] as const;
      if (kept === undefined) program.output("out", record(program, x, ...rest));
      else {
        const between = kept(program, x, ...rest);
        program.output("between", between);
        program.output("out", record(program, between, ...rest));
      }
      return backend.compile(program);
    };
    const together = await compile((p, x, ...rest) => second(p, first(p, x, ...rest), ...rest));
    const both = await compile(second, first);
    const plans = [await compile(first), await compile(second)];
    for (const rows of [1, 5, 3000, 0]) {
      const inputs = { x: uniform(1, rows * 2 * n), y: uniform(2, rows * 2 * n), w: uniform(3, n), column: uniform(4, rows) };
      const between = plans[0]!.runSync!(inputs).out!;
      const want = plans[1]!.runSync!({ ...inputs, x: between }).out!;
      expect(isSame(together.runSync!(inputs).out!, want), `${rows} rows`).toBe(true);
      expect(isSame(await together.run(inputs).out!.data(), want), `${rows} rows, on threads`).toBe(true);
      const kept = both.runSync!(inputs);
      expect([isSame(kept.between!, between), isSame(kept.out!, want)], `${rows} rows, and what is between`).toEqual([true, true]);
    }
    expect(backend.counters.ops.fused).toBeGreaterThan(0);
    await backend.dispose();
  });
});
