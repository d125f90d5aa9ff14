import { type Backend, createBatch, DisposedError, ProgramError } from "@centella/core";
import { expectEqual, expectRejection, expectThat } from "../compare.ts";
import { type ConformanceTest, programTest } from "../conformanceTest.ts";

const x = Float32Array.of(1, -2, 3, -4);

async function chain(backend: Backend): Promise<void> {
  using batch = createBatch(backend);
  const a = batch.upload(x, [2, 2]);
  const b = batch.upload(Float32Array.of(0.5, 1), [2]);
  const relu = batch.keep(batch.relu(a));
  const scaled = batch.scale(relu, { by: 2 });
  const sum = batch.add(scaled, b);
  const argmax = batch.argmax(scaled);
  const before = { ...backend.counters };
  await batch.execute();
  expectEqual(`${backend.name}: kept`, await batch.read(relu), [1, 0, 3, 0]);
  expectEqual(`${backend.name}: leaf`, await batch.read(sum), [2.5, 1, 6.5, 1]);
  expectEqual(`${backend.name}: i32 leaf`, await batch.read(argmax), [0, 0]);
  const { uploads, submits, readbacks } = backend.counters;
  expectThat(submits - before.submits === 1, `${backend.name}: expected one submit for the batch, got ${submits - before.submits}`);
  if (backend.device.kind !== "cpu") {
    expectThat(uploads - before.uploads === 1, `${backend.name}: expected one upload for the batch, got ${uploads - before.uploads}`);
    expectThat(
      readbacks - before.readbacks === 1,
      `${backend.name}: expected one readback for the batch, got ${readbacks - before.readbacks}`,
    );
  }
  await expectRejection("a consumed value", () => batch.read(scaled), ProgramError, /keep\(\)/);
}

async function misuse(backend: Backend): Promise<void> {
  const batch = createBatch(backend);
  const other = createBatch(backend);
  const foreign = other.upload(x);
  await expectRejection("an empty batch", () => createBatch(backend).execute(), ProgramError, /at least one op/);
  await expectRejection("mixed batches", () => batch.relu(foreign), ProgramError, /relu: x belongs to another program/);
  const y = batch.relu(batch.upload(x));
  await expectRejection("read before execute", () => batch.read(y), ProgramError, /await execute\(\) first/);
  await batch.execute();
  await expectRejection("execute twice", () => batch.execute(), ProgramError, /start another with createBatch\(\)/);
  await expectRejection("record after execute", () => batch.relu(y), ProgramError, /start another/);
  await expectRejection("a value of another batch", () => batch.read(foreign), ProgramError, /value of this batch/);
  expectEqual(`${backend.name}: still readable`, await batch.read(y), [1, 0, 3, 0]);
  batch.dispose();
  batch.dispose();
  await expectRejection("read after dispose", () => batch.read(y), DisposedError);
}

export const batch: readonly ConformanceTest[] = [programTest("batch: a chain", chain), programTest("batch: misuse", misuse)];
