import { createRuntime, reference } from "@centella/core";
import { expect, test } from "vitest";
import { wasm } from "../src/index.ts";

test("runtime.sync computes on WASM within the call, including fused kernels and its own tensors", async () => {
  await using runtime = await createRuntime({ backends: [wasm()], policy: { force: "wasm" } });
  const values = Float32Array.from({ length: 64 * 64 }, (_, i) => Math.sin(i));
  const a = runtime.tensor(values, [64, 64]);
  const awaited = await runtime.matmul(a, a);
  await awaited.ready();
  expect(awaited.device).toBe("wasm");
  const { sync } = runtime;
  const y = sync.softmax(sync.gelu(sync.add(sync.matmul(a, a), awaited)), { axis: 0 });
  await using exact = await createRuntime({ backends: [reference()] });
  const product = exact.sync.matmul(a, a);
  const want = exact.sync.softmax(exact.sync.gelu(exact.sync.add(product, product)), { axis: 0 }).dataSync();
  y.dataSync().forEach((value, i) => void expect(value).toBeCloseTo(Number(want[i]), 5));
  expect(runtime.counters.wasm!.ops).toMatchObject({ matmul: 2, add: 1, gelu: 1, softmax: 1 });
  expect(runtime.report().calls.every(({ backend }) => backend === "wasm")).toBe(true);
});

test("pending work must be awaited first", async () => {
  await using runtime = await createRuntime({ backends: [wasm()], policy: { force: "wasm" } });
  const a = runtime.tensor(new Float32Array(4));
  const later = await runtime.relu(a);
  expect(() => runtime.sync.relu(a)).toThrow(/expected no work under way on this backend/);
  await later.ready();
  expect([...runtime.sync.relu(later).dataSync()]).toEqual([0, 0, 0, 0]);
});

test("a large call is correct before and after the threads have the kernel", async () => {
  await using runtime = await createRuntime({ backends: [wasm({ threads: 2 })], policy: { force: "wasm" } });
  const values = Float32Array.from({ length: 1 << 18 }, (_, i) => i % 1000);
  const a = runtime.tensor(values);
  for (let round = 0; round < 20; round++) {
    const y = runtime.sync.mul(a, a).dataSync();
    expect(y.findIndex((value, i) => value !== values[i]! ** 2)).toBe(-1);
    await new Promise((resolve) => void setTimeout(resolve, 2));
  }
});
