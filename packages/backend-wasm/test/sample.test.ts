import { uniform } from "@centella/conformance/headless";
import { createProgram } from "@centella/core";
import { sampleReference, weightOf } from "@centella/core/backend";
import { expect, test, vi } from "vitest";
import { ModuleBuilder } from "../src/emit/index.ts";
import { wasm } from "../src/index.ts";
import { WasmMemory } from "../src/memory/wasmMemory.ts";
import { emitWeight } from "../src/sampling/weights.ts";
import { hostSteps } from "./shared.ts";

test("weights are the reference's", () => {
  const module = new ModuleBuilder({});
  emitWeight(module, "weight");
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 65_536 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env: { memory } });
  const weight = exports.weight as (distance: number) => number;
  const random = uniform(1, 100_000);
  const distances = [
    0,
    1e-45,
    1e-7,
    19.4,
    19.41,
    20,
    3e38,
    Number.POSITIVE_INFINITY,
    ...random.map(Math.abs),
    ...random.map((x) => 22 * Math.abs(x)),
  ];
  expect(distances.filter((x) => weight(Math.fround(x)) !== weightOf(Math.fround(x)))).toEqual([]);
});

/** Every combination of options, one for each row. */
const options = [0, 0.3, 1, 7].flatMap((temperature) =>
  [0, 1, 40, 700, 5000].flatMap((topK) =>
    [0, 0.5, 0.95, 1].flatMap((topP) => [0, 0.05, 1].map((minP) => ({ temperature, topK, topP, minP }))),
  ),
);
const rows = options.length;
const column = (name: keyof (typeof options)[number]): number[] => options.map((each) => each[name]);

/** Inputs of a call with the options of each row, a mask of every second token, and one without candidates but the last. */
function inputsOf(logits: Float32Array, n: number) {
  const masks = Int32Array.from({ length: 2 * Math.ceil(n / 32) }, (_, i, words = Math.ceil(n / 32)) =>
    i < words ? 0x55555555 : i + 1 < 2 * words ? 0 : 1 << ((n - 1) & 31),
  );
  return {
    logits,
    position: Int32Array.from(options, (_, row) => row * 977 - 5),
    seed: Int32Array.from({ length: 2 * rows }, (_, i) => 31 * i),
    temperature: Float32Array.from(column("temperature")),
    topK: Int32Array.from(column("topK")),
    topP: Float32Array.from(column("topP")),
    minP: Float32Array.from(column("minP")),
    mask: masks,
    maskRow: Int32Array.from(options, (_, row) => (row % 3 === 0 ? 0 : row % 50 === 1 ? 1 : -1)),
  };
}

const shapesOf = (n: number): Readonly<Record<string, readonly number[]>> => ({
  logits: [rows, n],
  seed: [rows, 2],
  mask: [2, Math.ceil(n / 32)],
});

test("chooses what the reference does, with other options in each row, without a return to JavaScript", async () => {
  const record = vi.spyOn(WasmMemory.prototype, "record");
  const backend = await wasm({ threads: 2 }).open();
  for (const [n, scale] of [
    [1500, 6],
    [9001, 1],
    [9024, 30],
  ] as const) {
    // Few distinct logits, so that some are equal. Some are excluded.
    const logits = Float32Array.from(uniform(3, rows * n), (x, i) =>
      i % 7 === 3 && i % n !== n - 1 ? Number.NEGATIVE_INFINITY : Math.round(24 * x) * (scale / 24),
    );
    const inputs = inputsOf(logits, n);
    const program = createProgram();
    const shapes = shapesOf(n);
    const [x, position, seed, temperature, topK, topP, minP, mask, maskRow] = Object.entries(inputs).map(([name, data]) =>
      program.input(name, data instanceof Float32Array ? "f32" : "i32", shapes[name] ?? [rows]),
    ) as [ReturnType<typeof program.input>, ...ReturnType<typeof program.input>[]];
    program.output("y", program.sample(x, position!, seed!, temperature!, topK!, topP!, minP!, { mask: mask!, maskRow: maskRow! }));
    const plan = await backend.compile(program);
    const y = (await plan.run(inputs).y!.data()) as Int32Array;
    const want = new Int32Array(rows);
    const host = Object.entries(inputs).map(([name, data]) => ({
      spec: { dtype: data instanceof Float32Array ? ("f32" as const) : ("i32" as const), shape: shapes[name] ?? [rows] },
      data,
    }));
    // The list has the op's inputs in their order, which `map` does not tell the types.
    sampleReference(host as unknown as Parameters<typeof sampleReference>[0], {}, { spec: { dtype: "i32", shape: [rows] }, data: want });
    expect(options.filter((_, row) => y[row] !== want[row])).toEqual([]);
    expect(new Set(want).size).toBeGreaterThan(rows / 4);
    plan.dispose();
  }
  expect(hostSteps(record)).toBe(0);
  await backend.dispose();
});

test("a row without candidates or with NaN gives -1 and does not affect other rows", async () => {
  const backend = await wasm().open();
  const program = createProgram();
  const x = program.input("x", "f32", [5, 3]);
  const [at, one] = [program.input("at", "i32", [5]), program.input("one", "f32", [5])];
  const seed = program.input("seed", "i32", [5, 2]);
  program.output("y", program.sample(x, at, seed, one, at, one, one));
  const none = Number.NEGATIVE_INFINITY;
  const logits = [none, none, none, 0, 1, 0, Number.NaN, 1, 0, 0, Number.POSITIVE_INFINITY, 0, none, none, 2];
  const plan = await backend.compile(program);
  const inputs = { x: Float32Array.from(logits), at: new Int32Array(5), one: new Float32Array(5).fill(1), seed: new Int32Array(10) };
  expect([...(await plan.run(inputs).y!.data())]).toEqual([-1, 1, -1, -1, 2]);
  await backend.dispose();
});
