import { readFileSync } from "node:fs";
import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { type Backend, createProgram, type Plan, type Program, reference } from "@centella/core";
import type { ProgramGraph } from "@centella/core/backend";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { groupRows } from "../src/formats/block.ts";
import { extractRow } from "../src/formats/extractRow.ts";
import { formatNames, formatOf } from "../src/formats/index.ts";
import { rowBytesOf } from "../src/formats/interleave.ts";
import { wasm } from "../src/index.ts";
import type { WasmPlan } from "../src/plan/plan.ts";
import { interleaved, sharedPath, targets } from "./shared.ts";

const realBlocks = sharedPath("data/dequant");

test.each(formatNames)("%s: interleaving eight rows moves every bit to a place of its own, and back", (dtype) => {
  const rowBytes = 3 * formatOf(dtype).bytes;
  const groupBytes = groupRows * rowBytes;
  const rows = Uint8Array.from({ length: 2 * groupBytes }, (_, i) => (i * 167 + (i >> 8)) & 255);
  const groups = interleaved(dtype, rowBytes, rows);
  expect(groups).not.toEqual(rows);
  const back = Array.from({ length: 2 * groupRows }, (_, index) => {
    const row = new Uint8Array(rowBytes);
    const group = Math.floor(index / groupRows) * groupBytes;
    extractRow(dtype, groups.subarray(group, group + groupBytes), index % groupRows, row);
    return [...row];
  });
  expect(Uint8Array.from(back.flat())).toEqual(rows);
});

/** Block types that keep their bytes. */
const blockTypes = formatNames.filter((name) => name !== "scaled8");

describe.each(targets)("interleaved weights, relaxed: $relaxed", ({ relaxed }) => {
  let backend: Backend;
  let scalar: Backend;
  beforeAll(async () => {
    [backend, scalar] = await Promise.all([wasm({ relaxed }).open(), reference().open()]);
  });
  afterAll(() => Promise.all([backend.dispose(), scalar.dispose()]));

  const isInterleaved = (plan: Plan): boolean => (plan as WasmPlan).persistents.get("w")?.interleaving !== undefined;

  /** Multiplies with `w` and looks up its rows. */
  function tied(dtype: (typeof blockTypes)[number], n: number, k: number, activations: "ggml" | "f32"): Program {
    const program = createProgram();
    const w = program.persistent("w", { dtype, shape: [n, k] });
    const x = program.input("x", "f32", [program.dim("T", 7), k]);
    program.output("y", program.matmul(x, w, { transposeB: true, activations }));
    program.output("rows", program.embedding(w, program.input("ids", "i32", [n + 2])));
    return program;
  }

  test.each(blockTypes)(
    "%s: a tied matrix with rows left over is saved bit for bit and multiplied as the reference does",
    async (dtype) => {
      const [n, k] = [29, 512];
      const { stored } = contentsOf({ dtype, shape: [n, k] }, 2);
      const [plan, wanted] = await Promise.all([backend, scalar].map((on) => on.compile(tied(dtype, n, k, "ggml"))));
      expect(isInterleaved(plan!)).toBe(true);
      const odd = new Uint8Array(stored.byteLength + 1);
      odd.set(new Uint8Array(stored.buffer), 1);
      await plan!.load("w", { size: stored.byteLength, read: async (offset, length) => odd.subarray(1 + offset, 1 + offset + length) });
      await wanted!.load("w", sourceOf(stored));
      expect(await plan!.save("w")).toEqual(stored);
      const ids = Int32Array.from({ length: n + 2 }, (_, i) => (i * 7) % n);
      for (const tokens of [1, 2, 3, 7]) {
        const inputs = { x: uniform(tokens, tokens * k), ids };
        const [got, want] = [plan!, wanted!].map((each) => each.runSync!(inputs) as { y: Float32Array; rows: Float32Array });
        expect(got!.rows).toEqual(want!.rows);
        const size = Math.sqrt(want!.y.reduce((sum, value) => sum + value * value, 0) / want!.y.length);
        got!.y.forEach((value, i) => void expect(Math.abs(value - want!.y[i]!), `T=${tokens}, ${i}`).toBeLessThan(1e-5 * size));
      }
      plan!.dispose();
    },
  );

  test.skipIf(realBlocks === undefined).each(blockTypes)(
    `%s: rows of a model are looked up as ggml decodes them${realBlocks === undefined ? " (no data/dequant)" : ""}`,
    async (dtype) => {
      const bytes = new Uint8Array(readFileSync(`${realBlocks}/${dtype.toUpperCase()}.blocks`));
      const n = bytes.length / rowBytesOf(dtype, 512);
      const plan = await backend.compile(tied(dtype, n, 512, "ggml"));
      await plan.load("w", sourceOf(bytes));
      const ids = Int32Array.from({ length: n + 2 }, (_, i) => i % n);
      const { rows } = plan.runSync!({ ids, x: new Float32Array(512) });
      const wanted = new Uint8Array(readFileSync(`${realBlocks}/${dtype.toUpperCase()}.f32`));
      expect(new Uint8Array(rows!.buffer, 0, wanted.length)).toEqual(wanted);
      plan.dispose();
    },
  );

  test("exact products read what another plan uses with rounded activations, the same bits as their own", async () => {
    const spec = { dtype: "q4_K", shape: [21, 512] } as const;
    const { stored } = contentsOf(spec, 3);
    const [exact, first] = await Promise.all((["f32", "ggml"] as const).map((mode) => backend.compile(tied(spec.dtype, 21, 512, mode))));
    const sharing = await backend.compile(tied(spec.dtype, 21, 512, "f32"), { shareWith: first! });
    await Promise.all([exact!.load("w", sourceOf(stored)), first!.load("w", sourceOf(stored))]);
    const inputs = { x: uniform(4, 5 * 512), ids: new Int32Array(23) };
    expect(sharing.runSync!(inputs)).toEqual(exact!.runSync!(inputs));
    for (const plan of [exact!, sharing, first!]) plan.dispose();
  });

  test("a use that needs rows as loaded keeps them, or is refused with a reason", async () => {
    const product = (returnsWeights: boolean): Program => {
      const program = createProgram();
      const w = program.persistent("w", { dtype: "q8_0", shape: [16, 64] });
      program.output("y", program.matmul(program.input("x", "f32", [3, 64]), w, { transposeB: true, activations: "ggml" }));
      if (returnsWeights) program.output("weights", w);
      return program;
    };
    const returning = await backend.compile(product(true));
    expect(isInterleaved(returning)).toBe(false);
    const first = await backend.compile(product(false));
    await expect(backend.compile(product(true), { shareWith: first })).rejects.toThrow(/w: .*holds its rows interleaved/);
    for (const plan of [returning, first]) plan.dispose();
  });
});

test("a persistent that several programs share gets a layout that all of them can read", async () => {
  const backend = await wasm().open();
  const spec = { dtype: "q8_0", shape: [16, 64] } as const;
  const { stored } = contentsOf(spec, 5);
  const lookup = createProgram();
  const table = lookup.persistent("w", spec);
  lookup.output("rows", lookup.embedding(table, lookup.input("ids", "i32", [2])));
  const product = createProgram();
  const x = product.input("x", "f32", [3, 64]);
  product.output("y", product.matmul(x, product.persistent("w", spec), { transposeB: true, activations: "ggml" }));
  const plain = createProgram();
  plain.output("w", plain.dequantize(plain.persistent("w", spec)));
  const run = async (others: readonly ProgramGraph[]) => {
    const first = await backend.compile(lookup, { sharedBy: others });
    await first.load("w", sourceOf(stored));
    const plans = [];
    for (const program of others) plans.push(await backend.compile(program, { shareWith: first }));
    const rows = await first.run({ ids: Int32Array.of(9, 3) }).rows!.data();
    const results = await Promise.all(
      plans.map((plan) => Object.values(plan.run(plan.program.inputs.has("x") ? { x: uniform(1, 192) } : {}))[0]!.data()),
    );
    for (const plan of [...plans, first]) plan.dispose();
    return { rows, results, interleaving: (first as WasmPlan).persistents.get("w")!.interleaving };
  };
  const alone = await run([product]);
  const withPlain = await run([product, plain]);
  // Interleaved for the product, unless a third program reads the blocks unchanged.
  expect(alone.interleaving).toBe("q8_0");
  expect(withPlain.interleaving).toBeUndefined();
  expect(withPlain.rows).toEqual(alone.rows);
  expect(withPlain.results[0]).toEqual(alone.results[0]);
  expect(withPlain.results[1]!.length).toBe(16 * 64);
  await backend.dispose();
});

describe.each([1, 3])("a matrix of several chunks, threads: %i", (threads) => {
  const [n, k] = [5003, 1024];
  const stored = Uint8Array.from({ length: n * rowBytesOf("q8_0", k) }, (_, i) => (i * 167 + (i >> 8)) & 255);
  const source = {
    size: stored.length,
    read: async (offset: number, length: number) => stored.subarray(offset, offset + length),
  };
  let backend: Backend;
  beforeAll(async () => {
    backend = await wasm({ threads }).open();
  });
  afterAll(() => backend.dispose());

  async function lookup(): Promise<Plan> {
    const program = createProgram();
    program.output("rows", program.embedding(program.persistent("w", { dtype: "q8_0", shape: [n, k] }), program.input("ids", "i32", [1])));
    return backend.compile(program);
  }

  test("is saved bit for bit, whether or not its source writes in place", async () => {
    const plan = await lookup();
    expect((plan as WasmPlan).persistents.get("w")?.interleaving).toBe("q8_0");
    for (const readInto of [
      undefined,
      async (target: Uint8Array, offset: number) => target.set(stored.subarray(offset, offset + target.length)),
    ]) {
      await plan.load("w", { ...source, ...(readInto && { readInto }) });
      expect(Buffer.from((await plan.save("w")).buffer).equals(stored)).toBe(true);
    }
    plan.dispose();
  });

  test("can be loaded again after its source failed, and is freed once it is loaded if the plan is disposed of meanwhile", async () => {
    const before = backend.memory().persistents;
    const plan = await lookup();
    const failing = {
      size: stored.length,
      read: (offset: number, length: number) => (offset > 0 ? Promise.reject(new Error("gone")) : source.read(offset, length)),
    };
    await expect(plan.load("w", failing)).rejects.toThrow("gone");
    await plan.load("w", source);
    expect(Buffer.from((await plan.save("w")).buffer).equals(stored)).toBe(true);
    const disposing = {
      size: stored.length,
      read(offset: number, length: number) {
        if (offset > 0) plan.dispose();
        return source.read(offset, length);
      },
    };
    await plan.load("w", disposing);
    await backend.idle();
    expect(backend.memory().persistents).toBe(before);
  });
});
