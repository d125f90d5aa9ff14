import { expect, test } from "vitest";
import { HostArrays, PendingOutputs, unlessAborted } from "../src/backend/pendingOutputs.ts";
import { hostTensor } from "../src/tensor.ts";

const f32 = (...shape: number[]) => ({ dtype: "f32", shape }) as const;

test("tensors of a run are its results in order, except those that have a storage on the device", async () => {
  const outputs = new PendingOutputs(Promise.resolve(new HostArrays([Float32Array.of(1), Float32Array.of(2, 3)])));
  const { storage } = hostTensor(f32(1), Float32Array.of(9));
  const { a, b, c } = outputs.tensors(
    ["a", "b", "c"].map((name) => ({ name, spec: f32(name === "c" ? 2 : 1) })),
    new Map([["b", storage]]),
  );
  expect(await a!.data()).toEqual(Float32Array.of(1));
  expect(b!.storage).toBe(storage);
  expect(await c!.data()).toEqual(Float32Array.of(2, 3));
});

test("an abort after the run frees all of its results", async () => {
  const freed: number[] = [];
  const results = Object.assign(new HostArrays([]), { free: (index: number) => void freed.push(index) });
  const controller = new AbortController();
  const pending = unlessAborted(Promise.resolve(results), controller.signal, 2);
  expect(await unlessAborted(Promise.resolve(results), undefined, 2)).toBe(results);
  expect(await pending).toBe(results);
  controller.abort(new Error("enough"));
  await expect(unlessAborted(Promise.resolve(results), controller.signal, 2)).rejects.toThrow("enough");
  expect(freed).toEqual([0, 1]);
});
