import { expect, test } from "vitest";
import { createBatch, createProgram, DisposedError, ProgramError, reference } from "../src/index.ts";
import { withBatch } from "../src/runtime/batch.ts";

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
  expect(() => first.relu(program.input("x", "f32", [2]))).toThrow(/relu: expected a handle of this batch, got an object/);
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

test("within withBatch the compiler tells handles apart without names", async () => {
  const backend = await reference().open();
  const results = await withBatch(backend, async (outer) => {
    const x = outer.upload(Float32Array.of(1, -2));
    const inner = await withBatch(backend, async (batch) => {
      // @ts-expect-error: a handle of the outer batch
      expect(() => batch.relu(x)).toThrow(ProgramError);
      const y = batch.neg(batch.upload(Float32Array.of(3)));
      // @ts-expect-error: a handle of the inner batch
      expect(() => outer.relu(y)).toThrow(ProgramError);
      await batch.execute();
      return batch.read(y);
    });
    const y = outer.relu(x);
    await outer.execute();
    return [...inner, ...(await outer.read(y))];
  });
  expect(results).toEqual([-3, 1, 0]);
  await backend.dispose();
});

test("a batch of withBatch is freed with its function, also where that fails", async () => {
  const backend = await reference().open();
  const leave = async (isFailing: boolean): Promise<unknown> => {
    let leaked: { upload(data: Float32Array): unknown } | undefined;
    const work = withBatch(backend, async (batch) => {
      leaked = batch;
      batch.relu(batch.upload(Float32Array.of(1)));
      await batch.execute();
      if (isFailing) throw new RangeError("mine");
    });
    if (isFailing) await expect(work).rejects.toThrow("mine");
    else await work;
    return leaked!.upload(Float32Array.of(1));
  };
  await expect(leave(false)).rejects.toThrow(DisposedError);
  await expect(leave(true)).rejects.toThrow(DisposedError);
  expect(backend.memory().tensors).toBe(0);
  await backend.dispose();
});
