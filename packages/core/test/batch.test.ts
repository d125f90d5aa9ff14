import { expect, test } from "vitest";
import { ArgumentError, createBatch, createProgram, DisposedError, ProgramError, reference } from "../src/index.ts";

test("values of batches and programs do not mix", async () => {
  const backend = await reference().open();
  using first = createBatch(backend);
  using second = createBatch(backend);
  const x = first.upload([1, -2]);
  const own = second.upload([3, 4]);
  const foreign = /^relu: x belongs to another program; record all ops of a chain in one program$/;
  expect(() => second.relu(x)).toThrow(foreign);
  expect(() => second.add(own, x)).toThrow(/^add: b belongs to another program/);
  expect(() => second.keep(x)).toThrow(/^keep: expected a value of this batch, got one of another program; use it with the batch/);
  expect(() => second.keep(3 as never)).toThrow(ArgumentError);
  const program = createProgram();
  expect(() => program.relu(x)).toThrow(foreign);
  expect(() => first.relu(program.input("x", "f32", [2]))).toThrow(foreign);
  const y = second.relu(own);
  await second.execute();
  await expect(second.read(x)).rejects.toThrow(ProgramError);
  expect([...(await second.read(y))]).toEqual([3, 4]);
  await backend.dispose();
});

test("uploads take the same data as runtime.tensor, and copy it", async () => {
  const backend = await reference().open();
  using batch = createBatch(backend);
  const data = Float32Array.of(1, 2);
  const sum = batch.add(batch.upload(data), batch.upload([[10], [20]]));
  data.fill(0);
  await batch.execute();
  expect([...(await batch.read(sum))]).toEqual([11, 12, 21, 22]);
  using other = createBatch(backend);
  expect(() => other.upload(3 as never)).toThrow(/^upload: expected a list of numbers, .+, got 3/);
  await backend.dispose();
});

test("a batch that is disposed of while it is compiled leaves no results", async () => {
  const backend = await reference().open();
  const batch = createBatch(backend);
  const y = batch.relu(batch.upload([1]));
  const executing = batch.execute();
  batch.dispose();
  await expect(executing).rejects.toThrow(DisposedError);
  await backend.idle();
  expect(backend.memory().tensors).toBe(0);
  expect(() => batch.upload([1])).toThrow(DisposedError);
  await expect(batch.read(y)).rejects.toThrow(DisposedError);
  await backend.dispose();
});

test("results are freed with their batch", async () => {
  const backend = await reference().open();
  const batch = createBatch(backend);
  batch.relu(batch.upload([1]));
  await batch.execute();
  expect(backend.memory().tensors).toBe(4);
  batch.dispose();
  expect(backend.memory().tensors).toBe(0);
  await backend.dispose();
});
