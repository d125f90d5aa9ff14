import { createBatch, createProgram, DeviceLostError, type Plan, type Program, type Value } from "@centella/core";
import { expect, test } from "vitest";
import { type Calls, describeCalls } from "../support/logCalls.ts";

await describeCalls("submissions of a run", (own, calls) => {
  /** Records a chain of `count` dispatches: of two elements a and b, the second becomes `b + count · a`. */
  const record = (program: Program, count: number): Value => {
    let y = program.input("x", "f32", [2]);
    for (let i = 0; i < count; i++) y = program.cumsum(y, { axis: 0 });
    return y;
  };
  const chain = (count: number): Promise<Plan> => {
    const program = createProgram();
    program.output("y", record(program, count));
    return own().backend.compile(program);
  };
  /** A chain whose result a last dispatch adds to elements in pairs. */
  const added = (count: number, pairs: number): Promise<Plan> => {
    const program = createProgram();
    program.output("y", program.add(program.input("large", "f32", [pairs, 2]), record(program, count - 1)), { to: "device" });
    return own().backend.compile(program);
  };
  const x = Float32Array.of(1, 0);
  const run = (plan: Plan) => plan.run({ x }).y!.data();
  const submitted = (): Calls => calls.slice(0, calls.lastIndexOf("submit") + 1);
  const dispatched = (): readonly number[] => submitted().filter((call) => typeof call === "number");

  test.each([
    [20, [20]],
    [64, [64]],
    [65, [32, 33]],
    [160, [32, 128]],
    [161, [32, 64, 65]],
    [600, [32, 64, 128, 376]],
  ])("an idle device gets %i dispatches in parts of %j", async (count, parts) => {
    const plan = await chain(count);
    for (let i = 0; i < 2; i++) {
      calls.length = 0;
      const before = { ...own().backend.counters };
      expect([...(await run(plan))]).toEqual([1, count]);
      // Uniforms and inputs are written before the first part is submitted, and results are copied after the last one.
      expect(submitted()).toEqual(["write", ...parts.flatMap((part) => [part, "submit"]).toSpliced(-1, 0, "copy")]);
      const { uploads, submits, readbacks } = own().backend.counters;
      expect([uploads - before.uploads, submits - before.submits, readbacks - before.readbacks]).toEqual([1, parts.length, 1]);
    }
  });

  test("runs behind one whose results are pending are a submission each, because the device is at work", async () => {
    const plan = await chain(200);
    const results = await Promise.all([run(plan), run(plan), run(plan)]);
    expect(results.map((data) => [...data])).toEqual([1, 2, 3].map(() => [1, 200]));
    expect(dispatched()).toEqual([32, 64, 104, 200, 200]);
    expect(own().backend.counters.submits).toBe(5);
    calls.length = 0;
    await run(plan);
    expect(dispatched()).toEqual([32, 64, 104]);
  });

  test("a long batch is one upload and one readback", async () => {
    using batch = createBatch(own().backend);
    let y = batch.upload(x);
    for (let i = 0; i < 100; i++) y = batch.cumsum(y, { axis: 0 });
    await batch.execute();
    expect([...(await batch.read(y))]).toEqual([1, 100]);
    expect(own().backend.counters).toMatchObject({ uploads: 1, submits: 2, readbacks: 1 });
  });

  test("a profile is one submission", async () => {
    const plan = await chain(100);
    const { steps } = await plan.profile({ x });
    expect(steps.map(({ launches }) => launches)).toEqual(Array.from({ length: 100 }, () => 1));
    expect(calls.filter((call) => call === "submit")).toHaveLength(1);
  });

  test("large inputs come with the first part, and large outputs are written in place by the last", async () => {
    const pairs = 2 ** 17;
    const plan = await added(70, pairs);
    const large = Float32Array.from({ length: 2 * pairs }, (_, i) => i % 100);
    const expected = large.map((value, i) => value + (i % 2 === 0 ? 1 : 69));
    for (let i = 0; i < 3; i++) {
      calls.length = 0;
      using y = plan.run({ x, large }).y!;
      // The input's copy alone: the result has none.
      expect(calls).toEqual(["copy", "write", 32, "submit", 38, "submit"]);
      expect(await y.data()).toEqual(expected);
    }
  });

  test("a device that is lost between two parts rejects the run", async () => {
    const { backend, device } = own();
    const plan = await chain(200);
    const { submit } = device.queue;
    device.queue.submit = (buffers) => {
      submit.call(device.queue, buffers);
      device.destroy();
      return undefined;
    };
    await expect(run(plan)).rejects.toThrow(DeviceLostError);
    await backend.recover!();
    expect([...(await run(plan))]).toEqual([1, 200]);
  });

  test("a run that fails between two parts frees what it holds, and the next one computes", async () => {
    const { backend, device } = own();
    const pairs = 2 ** 15;
    const plan = await added(200, pairs);
    const large = new Float32Array(2 * pairs);
    const { createCommandEncoder } = device;
    let encoders = 0;
    device.createCommandEncoder = (descriptor) => {
      if (encoders++ === 1) throw new Error("no second encoder");
      return createCommandEncoder.call(device, descriptor);
    };
    const failed = plan.run({ x, large }).y!;
    await expect(failed.data()).rejects.toThrow("no second encoder");
    failed.dispose();
    expect(backend.memory().tensors).toBe(0);
    using y = plan.run({ x, large }).y!;
    expect((await y.data()).at(-1)).toBe(199);
  });
});
