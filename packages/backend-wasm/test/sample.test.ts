import { uniform } from "@centella/conformance/headless";
import { createProgram } from "@centella/core";
import { sampleReference } from "@centella/core/backend";
import { expect, test, vi } from "vitest";
import { ModuleBuilder } from "../src/emit/index.ts";
import { wasm } from "../src/index.ts";
import { WasmMemory } from "../src/memory/wasmMemory.ts";
import { emitExp } from "../src/sampling/exp.ts";
import { hostSteps } from "./shared.ts";

test("exp of f64 is fdlibm's, which Math.exp of V8 is, bit for bit", () => {
  const module = new ModuleBuilder({});
  emitExp(module, "exp");
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 65_536 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env: { memory } });
  const exp = exports.exp as (x: number) => number;
  const places = [
    0,
    -0,
    -1,
    -(2 ** -28),
    -(2 ** -29),
    -0.34657359,
    -0.3465735912322998,
    -1.0397,
    -708.4,
    -745.13,
    -745.14,
    Number.NEGATIVE_INFINITY,
  ];
  const fine = [...uniform(1, 100_000)].flatMap((x) => [-Math.abs(x), -Math.abs(x) * 30, -Math.abs(x) * 745, -(Math.abs(x) ** 9)]);
  const wrong = [...places, ...fine].filter((x) => !Object.is(exp(x), Math.exp(x)));
  expect(wrong).toEqual([]);
});

/** Every combination of sampling options. Few distinct logits, so that some are equal; some are excluded. */
const options = [0, 0.3, 1, 7].flatMap((temperature) =>
  [0, 1, 40, 5000].flatMap((topK) =>
    [0, 0.5, 0.95, 1].flatMap((topP) => [0, 0.05, 1].map((minP) => ({ temperature, topK, topP, minP, seed: 2 ** 40 + topK }))),
  ),
);

test("chooses what the reference does, on any thread, without a return to JavaScript", async () => {
  const record = vi.spyOn(WasmMemory.prototype, "record");
  const backend = await wasm({ threads: 2 }).open();
  const [rows, n] = [24, 1500];
  const logits = Float32Array.from(uniform(3, rows * n), (x, i) => (i % 7 === 3 ? Number.NEGATIVE_INFINITY : Math.round(24 * x) / 4));
  const position = Int32Array.from({ length: rows }, (_, row) => row * 977 - 5);
  for (const params of options) {
    const program = createProgram();
    const [x, at] = [program.input("x", "f32", [rows, n]), program.input("at", "i32", [rows])];
    program.output("y", program.sample(x, at, params));
    const plan = await backend.compile(program);
    const y = await plan.run({ x: logits, at: position }).y!.data();
    const want = new Int32Array(rows);
    const spec = (dtype: "f32" | "i32", ...shape: number[]) => ({ dtype, shape });
    sampleReference(
      [
        { spec: spec("f32", rows, n), data: logits },
        { spec: spec("i32", rows), data: position },
      ],
      params,
      { spec: spec("i32", rows), data: want },
    );
    expect([params, ...y]).toEqual([params, ...want]);
    plan.dispose();
  }
  expect(hostSteps(record)).toBe(0);
  await backend.dispose();
});

test("a row without candidates or with NaN gives -1 and does not affect other rows", async () => {
  const backend = await wasm().open();
  const program = createProgram();
  const [x, at] = [program.input("x", "f32", [5, 3]), program.input("at", "i32", [5])];
  program.output("y", program.sample(x, at, { seed: 1, topK: 1 }));
  const none = Number.NEGATIVE_INFINITY;
  const rows = [none, none, none, 0, 1, 0, Number.NaN, 1, 0, 0, Number.POSITIVE_INFINITY, 0, none, none, 2];
  const plan = await backend.compile(program);
  expect([...(await plan.run({ x: Float32Array.from(rows), at: new Int32Array(5) }).y!.data())]).toEqual([-1, 1, -1, -1, 2]);
  await backend.dispose();
});
