import { contentsOf, sourceOf, uniform } from "@centella/conformance/headless";
import { createProgram, type Plan } from "@centella/core";
import type { ProgramGraph } from "@centella/core/backend";
import { afterEach, expect, test, vi } from "vitest";
import { wasm } from "../src/index.ts";

function record(eps: number): ProgramGraph {
  const program = createProgram();
  program.output("y", program.rmsNorm(program.input("x", "f32", [2, 4]), program.input("w", "f32", [4]), { eps }));
  return program;
}

const inputs = { x: Float32Array.of(1, 1, 1, 1, 3, -3, 3, -3), w: Float32Array.of(1, 2, 3, 4) };
const normed = [1, 2, 3, 4, 1, -2, 3, -4];

/** Exports of each module that is compiled while a test runs. */
function watchModules(): (readonly string[])[] {
  const seen: (readonly string[])[] = [];
  const { compile, Module } = WebAssembly;
  const see = (module: WebAssembly.Module): void => void seen.push(Module.exports(module).map(({ name }) => name));
  vi.spyOn(WebAssembly, "compile").mockImplementation(async (bytes) => {
    const module = await compile(bytes as BufferSource);
    see(module);
    return module;
  });
  vi.spyOn(WebAssembly, "Module").mockImplementation(
    class extends Module {
      constructor(bytes: BufferSource) {
        super(bytes);
        see(this);
      }
    },
  );
  return seen;
}

afterEach(() => void vi.restoreAllMocks());

test.each([1, 2])("only the kernels that a plan calls are emitted, for the first plan that calls them; threads: %i", async (threads) => {
  const seen = watchModules();
  const backend = await wasm({ threads }).open();
  expect(seen.flat()).not.toContain("rmsNorm");
  const plan = await backend.compile(record(0));
  expect(seen.at(-1)).toContain("rmsNorm");
  expect(seen.flat().filter((name) => /groups|attention|rope/.test(name))).toEqual([]);
  const before = seen.length;
  const again = await backend.compile(record(0));
  expect(seen.length).toBe(before);
  for (const { run } of [plan, again].map((each) => ({ run: () => each.run(inputs).y!.data() })))
    expect([...(await run())].map(Math.round)).toEqual(normed);
  await backend.dispose();
});

const [n, k] = [24, 512];

function recordProduct(): ProgramGraph {
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", 16), k]);
  const w = program.persistent("w", { dtype: "q6_K", shape: [n, k] });
  program.output("y", program.matmul(x, w, { transposeB: true, activations: "ggml" }));
  return program;
}

/** Numbers of rows of runs in turn, and the functions that each run is the first one to call. */
const firstRuns = [
  [1, []],
  [5, ["groups4.q6_K"]],
  [4, []],
  [3, ["groups3.q6_K"]],
  // Processors that add products by pairs take 12 rows or more, others 8.
  [13, ["pairs.q6_K"]],
] as const;

const runs = {
  awaited: async (plan: Plan, x: Float32Array, T: number) => (await plan.run({ x }, { dims: { T } }).y!.data()) as Float32Array,
  sync: async (plan: Plan, x: Float32Array, T: number) => plan.runSync!({ x }, { dims: { T } }).y as Float32Array,
};

test.each([1, 2].flatMap((threads) => Object.keys(runs).map((kind) => [threads, kind as keyof typeof runs] as const)))(
  "products of several rows are emitted for the first run that has so many; threads: %i, %s",
  async (threads, kind) => {
    const seen = watchModules();
    const onlyRow = uniform(3, k);
    const backend = await wasm({ threads }).open();
    const plan = await backend.compile(recordProduct());
    await plan.load("w", sourceOf(contentsOf({ dtype: "q6_K", shape: [n, k] }, 2).stored));
    const products = (): readonly string[] => seen.flat().filter((name) => /^(groups\d|pairs)/.test(name));
    expect(products()).toEqual(["groups1.q6_K"]);
    const single = await runs[kind](plan, onlyRow, 1);
    for (const [rows, names] of firstRuns) {
      const before = products();
      const x = Float32Array.from({ length: rows * k }, (_, i) => onlyRow[i % k]!);
      const y = await runs[kind](plan, x, rows);
      expect(products()).toEqual([...before, ...names]);
      for (let row = 0; row < rows; row++) expect(y.subarray(row * n, (row + 1) * n)).toEqual(single);
    }
    await backend.dispose();
  },
);

test("a sync call compiles functions that another plan still waits for, and both are correct", async () => {
  const backend = await wasm({ threads: 2 }).open();
  const compile = WebAssembly.compile.bind(WebAssembly);
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const compiling = vi.spyOn(WebAssembly, "compile").mockImplementation((bytes) => gate.then(() => compile(bytes as BufferSource)));
  const waiting = backend.compile(record(0));
  await expect.poll(() => compiling).toHaveBeenCalled();
  const now = backend.compileSync!(record(0));
  expect([...now.runSync!(inputs).y!].map(Math.round)).toEqual(normed);
  open();
  const plan = await waiting;
  for (const each of [plan, now, plan]) expect([...(await each.run(inputs).y!.data())].map(Math.round)).toEqual(normed);
  await backend.dispose();
});
