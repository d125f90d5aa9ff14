import { expect, test } from "vitest";
import { createBatch, createProgram, ProgramError, reference } from "../src/index.ts";

test("handles of batches do not mix: for the compiler where the batches have names, at run time always", async () => {
  const backend = await reference().open();
  using first = createBatch(backend, { name: "first" });
  using second = createBatch(backend, { name: "second" });
  using unnamed = createBatch(backend);
  const x = first.upload(Float32Array.of(1, -2));
  const own = second.upload(Float32Array.of(3, 4));
  const mixed = /expected a handle of this batch second, got one of another first; use it with the batch that made it/;
  // @ts-expect-error: a handle of the first batch
  expect(() => second.relu(x)).toThrow(mixed);
  // @ts-expect-error: a handle of the first batch as the second tensor
  expect(() => second.add(own, x)).toThrow(mixed);
  // @ts-expect-error: a handle of the first batch
  expect(() => second.keep(x)).toThrow(ProgramError);
  // @ts-expect-error: a handle of a batch that has a name
  expect(() => unnamed.relu(x)).toThrow(ProgramError);
  const program = createProgram();
  // @ts-expect-error: a handle of a batch in a program
  expect(() => program.relu(x)).toThrow(/x to be a handle of this program/);
  // @ts-expect-error: a handle of a program in a batch
  expect(() => first.relu(program.input("x", "f32", [2]))).toThrow(/relu: expected a handle of this batch, got object/);
  const y = second.relu(own);
  await second.execute();
  // @ts-expect-error: a handle of the first batch
  await expect(second.read(x)).rejects.toThrow(mixed);
  expect([...(await second.read(y))]).toEqual([3, 4]);
  await backend.dispose();
});

test("batches without names tell their handles apart at run time", async () => {
  const backend = await reference().open();
  using first = createBatch(backend);
  using second = createBatch(backend);
  expect(() => second.relu(first.upload(Float32Array.of(1)))).toThrow(ProgramError);
  await backend.dispose();
});
