import { dequantize, quantize } from "@centella/quant";
import { expect, test } from "vitest";
import { seedOf, sourceOf, uniform } from "../../conformance/src/headless.ts";
import { hostMemory } from "../src/backend/hostMemory.ts";
import { createProgram, DisposedError, OutOfMemoryError, type Program, reference } from "../src/index.ts";

test("sums accumulate in f64", async () => {
  const program = createProgram();
  const x = program.input("x", "f32", [3]);
  program.output("sum", program.sum(x));
  program.output("dot", program.dot(x, program.constant(Float32Array.of(1, 1, 1), "f32", [3])));
  const backend = await reference().open();
  const plan = await backend.compile(program);
  const { sum, dot } = plan.runSync!({ x: Float32Array.of(2 ** 30, 1, -(2 ** 30)) });
  expect([sum![0], dot![0]]).toEqual([1, 1]);
});

test("weights and caches beyond memory are refused with their bytes, before anything is read or allocated", async () => {
  const backend = await reference().open();
  for (const init of [undefined, { init: "zeros" }] as const) {
    const program = createProgram();
    const weight = program.persistent("w", { dtype: "q8_0", shape: [2 ** 22, 2 ** 24] }, init);
    program.output("y", program.embedding(weight, program.input("ids", "i32", [1])));
    const error = await backend.compile(program).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(OutOfMemoryError);
    expect(error).toMatchObject({ device: "reference", requested: 2 ** 46 * (4 + 34 / 32), free: expect.any(Number) });
  }
});

test("shared persistents are not counted twice", async () => {
  const backend = await reference().open();
  const program = createProgram();
  // Most of the memory: twice as much would not fit.
  const elements = Math.floor((0.6 * hostMemory().bytes) / 4);
  const weight = program.persistent("w", { dtype: "f32", shape: [elements] });
  program.output("y", program.slice(weight, { axis: 0, start: 0, end: 1 }));
  const plan = await backend.compile(program);
  await expect(backend.compile(program, { shareWith: plan })).resolves.toBeDefined();
});

test("a disposed backend refuses work", async () => {
  const program = createProgram();
  program.output("y", program.relu(program.input("x", "f32", [1])));
  const backend = await reference().open();
  const plan = await backend.compile(program);
  await backend.dispose();
  await backend.dispose();
  expect(() => plan.run({ x: Float32Array.of(1) })).toThrow(DisposedError);
  await expect(backend.compile(program)).rejects.toThrow(DisposedError);
  expect(() => backend.upload({ dtype: "f32", shape: [1] }, Float32Array.of(1))).toThrow(DisposedError);
});

/** A decoder of 2 million parameters with the architecture of small language models. */
function decoder(layers: number, width: number, vocabulary: number): Program {
  const program = createProgram();
  const weight = (name: string, ...shape: number[]) => program.persistent(name, { dtype: "f32", shape });
  const [heads, size, slots] = [4, width / 4, 256];
  const position = program.input("position", "i32", [1]);
  const zero = program.constant(new Int32Array(1), "i32", [1]);
  const length = program.add(position, program.constant(Int32Array.of(1), "i32", [1]));
  const table = program.constant(new Int32Array(1), "i32", [1, 1]);
  const embedding = weight("embedding", vocabulary, width);
  let x = program.embedding(embedding, program.input("id", "i32", [1]));
  for (let i = 0; i < layers; i++) {
    const h = program.rmsNorm(x, weight(`norm1.${i}`, width), { eps: 1e-5 });
    const project = (name: string) =>
      program.reshape(program.matmul(h, weight(`${name}.${i}`, width, width), { transposeB: true }), { shape: [1, heads, size] });
    const q = program.rope(project("q"), position, { ropeType: "neox" });
    const k = program.rope(project("k"), position, { ropeType: "neox" });
    const cache = program.persistent(`cache.${i}`, { dtype: "f32", shape: [slots, heads, 2 * size] }, { init: "zeros" });
    const written = program.kvWrite(cache, k, project("v"), position);
    const attended = program.attention(q, written, position, zero, table, length, { scale: size ** -0.5, blockSize: slots });
    x = program.add(
      x,
      program.matmul(program.reshape(attended, { shape: [1, width] }), weight(`o.${i}`, width, width), { transposeB: true }),
    );
    const g = program.rmsNorm(x, weight(`norm2.${i}`, width), { eps: 1e-5 });
    const up = program.silu(program.matmul(g, weight(`up.${i}`, 4 * width, width), { transposeB: true }));
    x = program.add(x, program.matmul(up, weight(`down.${i}`, width, 4 * width), { transposeB: true }));
  }
  program.output("best", program.argmax(program.matmul(x, embedding, { transposeB: true })));
  return program;
}

test("a whole decoder generates the same tokens in sync and async runs", async () => {
  const program = decoder(2, 64, 128);
  const backend = await reference().open();
  const plan = await backend.compile(program);
  for (const { name, spec, init } of program.persistents.values()) {
    if (init !== "load") continue;
    const count = spec.shape.reduce((a, b) => a * b, 1);
    await plan.load(name, sourceOf(uniform(seedOf(name), count)));
  }
  const inputs = (id: number, t: number): Record<string, Int32Array> => ({ id: Int32Array.of(id), position: Int32Array.of(t) });
  const sync = [1];
  for (let t = 0; t < 20; t++) sync.push(plan.runSync!(inputs(sync[t]!, t)).best![0]!);
  const async = [1];
  for (let t = 0; t < 20; t++) async.push((await plan.run(inputs(async[t]!, t)).best!.data())[0]!);
  expect(async).toEqual(sync);
  expect(new Set(sync).size).toBeGreaterThan(2);
  await backend.dispose();
});

test("blocks that an op wrote are returned unchanged, also after further ops", async () => {
  const values = Float32Array.from({ length: 512 }, (_, i) => Math.sin(i * i) * 3);
  const program = createProgram();
  const q = program.quantize(program.input("x", "f32", [2, 256]), { dtype: "q4_K" });
  program.output("q", q);
  program.output("y", program.matmul(program.constant(values.subarray(0, 256), "f32", [1, 256]), q, { transposeB: true }));
  const plan = await (await reference().open()).compile(program);
  const blocks = quantize("q4_K", values);
  const { q: got, y } = plan.runSync!({ x: values });
  expect(got).toEqual(blocks);
  const decoded = new Float32Array(512);
  dequantize("q4_K", blocks, decoded);
  const dot = (row: number): number => values.subarray(0, 256).reduce((sum, value, i) => sum + value * decoded[256 * row + i]!, 0);
  expect(y![0]).toBeCloseTo(dot(0), 3);
  expect(y![1]).toBeCloseTo(dot(1), 3);
  expect(() => plan.runSync!({ x: new Float32Array(512).fill(Number.NaN) })).toThrow(/quantize: expected finite values, got NaN at 0/);
});
