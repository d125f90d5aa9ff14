import { spawnSync } from "node:child_process";
import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { type Backend, createProgram, OutOfMemoryError, type Plan, type Program, type TypedArray } from "@centella/core";
import { expect, test } from "vitest";
import { wasm } from "../src/index.ts";

const bytesOf = ({ buffer, byteOffset, byteLength }: TypedArray): Uint8Array => new Uint8Array(buffer, byteOffset, byteLength);

/** A plan whose weights have their own memory. */
async function largePlan(backend: Backend, mebibytes: number): Promise<Plan> {
  const program = createProgram();
  const k = 1024;
  const w = program.persistent("w", { dtype: "f32", shape: [mebibytes * 256, k] });
  program.output("y", program.matmul(program.input("x", "f32", [1, k]), w, { transposeB: true }), { to: "device" });
  return backend.compile(program);
}

test("a model's memory goes with its last plan, and other plans, tensors and runs stay", async () => {
  const backend = await wasm({ threads: 2 }).open();
  const small = createProgram();
  small.output("y", small.matmul(small.input("x", "f32", [600, 64]), small.constant(uniform(1, 64 * 64), "f32", [64, 64])));
  const smallPlan = await backend.compile(small);
  const x = uniform(2, 600 * 64);
  const wanted = await smallPlan.run({ x }).y!.data();
  const before = backend.memory();

  const plan = await largePlan(backend, 64);
  const size = 64 * 256 * 1024;
  await plan.load("w", { size: 4 * size, read: async (_offset, length) => new Uint8Array(length) });
  expect(backend.memory().persistents).toBeGreaterThanOrEqual(4 * size);
  const { y } = plan.run({ x: new Float32Array(1024) });
  await y!.ready();
  // The result of one memory is an input of the other.
  const sum = createProgram();
  sum.output("y", sum.sum(sum.input("x", "f32", [1, 64 * 256])));
  const sumPlan = await backend.compile(sum);
  const total = sumPlan.run({ x: y! }).y!;
  plan.dispose();
  const again = smallPlan.run({ x });
  expect(await total.data()).toEqual(Float32Array.of(0));
  expect(await again.y!.data()).toEqual(wanted);
  expect((await y!.data()).length).toBe(64 * 256);
  for (const tensor of [y!, total]) tensor.dispose();
  sumPlan.dispose();
  await backend.idle();
  expect(backend.memory()).toMatchObject({ persistents: before.persistents, arenas: before.arenas, tensors: before.tensors });
  expect(await smallPlan.run({ x }).y!.data()).toEqual(wanted);
  expect(smallPlan.runSync!({ x }).y!).toEqual(wanted);
  await backend.dispose();
});

test.each([
  { form: "interleaved", dtype: "q8_0", transposeB: true },
  { form: "packed", dtype: "f32", transposeB: false },
] as const)("$form: a weight is loaded into memory that grows for it", async ({ dtype, transposeB }) => {
  const backend = await wasm({ threads: 1 }).open();
  const shape = [1024, 1024];
  const record = (isRead: boolean): Program => {
    const program = createProgram();
    const w = program.persistent("w", { dtype, shape });
    const x = program.input("x", "f32", [1, 1024]);
    program.output("y", isRead ? program.matmul(x, w, { transposeB }) : program.relu(x));
    return program;
  };
  // The first plan reads no weights, so its memory has none until they are loaded.
  const reading = record(true);
  const first = await backend.compile(record(false), { sharedBy: [reading] });
  const { stored } = contentsOf({ dtype, shape }, 1);
  await first.load("w", sourceOf(stored));
  expect(Buffer.compare(bytesOf(await first.save("w")), bytesOf(stored))).toBe(0);
  await backend.dispose();
});

test("a weight that no step reads is loaded and saved, whose memory is allocated only then", async () => {
  const backend = await wasm({ threads: 1 }).open();
  const program = createProgram();
  const count = 2 ** 20;
  program.persistent("unread", { dtype: "f32", shape: [count] });
  program.output("y", program.relu(program.input("x", "f32", [1])));
  const plan = await backend.compile(program);
  const weights = uniform(1, count);
  await plan.load("unread", sourceOf(weights));
  expect(await plan.save("unread")).toEqual(weights);
  await backend.dispose();
});

test("a model can be disposed of while another is compiled", async () => {
  const backend = await wasm({ threads: 2 }).open();
  const going = [await largePlan(backend, 32), await largePlan(backend, 32), await largePlan(backend, 32)];
  // Releasing a memory restarts the threads.
  for (const plan of going) plan.dispose();
  const coming = await Promise.all([largePlan(backend, 32), largePlan(backend, 33)]);
  for (const plan of coming) {
    const { shape } = plan.program.persistents.get("w")!.spec;
    await plan.load("w", { size: 4096 * (shape[0] as number), read: async (_offset, length) => new Uint8Array(length) });
    expect((await plan.run({ x: new Float32Array(1024) }).y!.data()).length).toBe(shape[0]);
  }
  await backend.dispose();
});

test("a model that cannot fit is refused with numbers before anything is allocated", async () => {
  const backend = await wasm({ maxMemoryMiB: 128 }).open();
  const before = backend.memory();
  const error = await largePlan(backend, 256).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(OutOfMemoryError);
  expect(error).toMatchObject({ requested: 256 * 2 ** 20, device: "wasm" });
  expect((error as OutOfMemoryError).free).toBeLessThan(128 * 2 ** 20);
  expect((error as Error).message).toMatch(/the limit is 134217728 bytes \(maxMemoryMiB/);
  await backend.idle();
  expect(backend.memory()).toEqual(before);
  await backend.dispose();
});

test.each([1, 2])("the process gets smaller when a model is disposed of, threads: %s", (threads) => {
  const program = `
    import { wasm } from ${JSON.stringify(new URL("../src/index.ts", import.meta.url).href)};
    import { createProgram } from ${JSON.stringify(new URL("../../core/src/index.ts", import.meta.url).href)};
    const mebibytes = 200;
    const backend = await wasm({ threads: ${threads} }).open();
    const collect = async () => {
      for (let i = 0; i < 5; i++) {
        gc();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return Math.round(process.memoryUsage().rss / 2 ** 20);
    };
    // Threads that were ended hold the memory until they get a core for their end.
    const collectBelow = async (most) => {
      const until = Date.now() + 60_000;
      let size;
      do size = await collect();
      while (size >= most && Date.now() < until);
      return size;
    };
    const rss = [await collect()];
    for (let model = 0; model < 2; model++) {
      await (async () => {
        const program = createProgram();
        const w = program.persistent("w", { dtype: "f32", shape: [mebibytes * 256, 1024] });
        const x = program.input("x", "f32", [4, 1024]);
        program.output("y", program.matmul(x, w, { transposeB: true }));
        const plan = await backend.compile(program);
        await plan.load("w", { size: mebibytes * 2 ** 20, read: async (_offset, length) => new Uint8Array(length).fill(1) });
        await plan.run({ x: new Float32Array(4096) }).y.data();
        rss.push(await collect());
        plan.dispose();
        await backend.idle();
      })();
      rss.push(await collectBelow(rss.at(-1) - 150));
    }
    console.log(JSON.stringify(rss));
  `;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ["--expose-gc", "--conditions=@centella/source", "--no-warnings", "--input-type=module", "-e", program],
    { encoding: "utf8", timeout: 300_000 },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const [start, first, afterFirst, second, afterSecond] = JSON.parse(stdout) as [number, number, number, number, number];
  // Source chunks are small, and there is one copy of the weights.
  expect(first - start).toBeGreaterThan(190);
  expect(first - start).toBeLessThan(200 + 100);
  expect(first - afterFirst).toBeGreaterThan(150);
  expect(second - afterFirst).toBeLessThan(200 + 100);
  expect(second - afterSecond).toBeGreaterThan(150);
});

test("plans that share weights share their memory, until the last is disposed of", async () => {
  const backend = await wasm({ threads: 1 }).open();
  const before = backend.memory();
  const shape = [36 * 256, 1024];
  const record = (tokens: number) => {
    const program = createProgram();
    const w = program.persistent("w", { dtype: "f32", shape });
    program.output("y", program.matmul(program.input("x", "f32", [tokens, 1024]), w, { transposeB: true }));
    return program;
  };
  const first = await backend.compile(record(1));
  await first.load("w", sourceOf(contentsOf({ dtype: "f32", shape }, 1).stored));
  const second = await backend.compile(record(2), { shareWith: first });
  expect(backend.memory().persistents).toBeLessThan(37 * 2 ** 20);
  const x = uniform(3, 1024);
  const wanted = await first.run({ x }).y!.data();
  first.dispose();
  const got = await second.run({ x: Float32Array.of(...x, ...x) }).y!.data();
  expect(got.subarray(0, wanted.length)).toEqual(wanted);
  second.dispose();
  await backend.idle();
  expect(backend.memory()).toEqual(before);
  await backend.dispose();
});
