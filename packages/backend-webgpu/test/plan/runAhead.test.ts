import { type Backend, createProgram, DeviceLostError, type Plan } from "@centella/core";
import { useSwiftShader } from "@centella/test-devices";
import { expect, test } from "vitest";
import { webgpu } from "../../src/index.ts";
import { type Calls, describeCalls, logCalls } from "../support/logCalls.ts";

await describeCalls("runs that are recorded ahead", (own, calls) => {
  /** Cumulative sums of up to `most` numbers, one after the other. */
  const sums = (backend: Backend, count: number, most = 16): Promise<Plan> => {
    const program = createProgram();
    let y = program.input("x", "f32", [program.dim("n", most)]);
    for (let i = 0; i < count; i++) y = program.cumsum(y, { axis: 0 });
    program.output("y", y);
    return backend.compile(program);
  };
  const ones = (length: number, value = 1): Float32Array => new Float32Array(length).fill(value);
  /** The last element of a run's result, and the calls that the run made. */
  const run = async (plan: Plan, x: Float32Array): Promise<{ readonly last: number; readonly made: Calls }> => {
    calls.length = 0;
    using y = plan.run({ x }).y!;
    const last = (await y.data()).at(-1) as number;
    return { last, made: [...calls] };
  };
  const whole: Calls = ["write", 2, "copy", "submit"];
  const ahead: Calls = [2, "copy"];

  test("a run that repeats the one before is recorded again after its submission", async () => {
    const plan = await sums(own().backend, 2);
    expect(await run(plan, ones(4))).toEqual({ last: 10, made: whole });
    expect(await run(plan, ones(4, 2))).toEqual({ last: 20, made: [...whole, ...ahead] });
    const before = { ...own().backend.counters };
    for (const by of [3, 4, 5]) expect(await run(plan, ones(4, by))).toEqual({ last: 10 * by, made: ["write", "submit", ...ahead] });
    const { uploads, submits, readbacks } = own().backend.counters;
    expect([uploads - before.uploads, submits - before.submits, readbacks - before.readbacks]).toEqual([3, 3, 3]);
  });

  test("a run of other extents drops what is recorded, and its memory", async () => {
    const plan = await sums(own().backend, 2);
    const repeat = async (length: number, last: number): Promise<void> => {
      for (let i = 0; i < 3; i++) expect((await run(plan, ones(length))).last).toBe(last);
    };
    await repeat(4, 10);
    await repeat(5, 15);
    const held = own().backend.memory().other;
    for (let i = 0; i < 3; i++) {
      await repeat(4, 10);
      expect(await run(plan, ones(3))).toEqual({ last: 6, made: whole });
      await repeat(5, 15);
    }
    plan.dispose();
    expect(own().backend.memory().other).toBe(held);
  });

  test("results of several runs come in any order, and are whole when later runs reuse their memory", async () => {
    const plan = await sums(own().backend, 2);
    for (let round = 0; round < 3; round++) {
      const pending = [1, 2, 3, 4, 5, 6].map((by) => plan.run({ x: ones(4, by) }).y!);
      for (const [i, y] of [...pending.entries()].reverse()) expect((await y.data()).at(-1)).toBe(10 * (i + 1));
      for (const [i, y] of pending.entries()) {
        expect((await y.data()).at(-1)).toBe(10 * (i + 1));
        y.dispose();
      }
    }
  });

  test("of a long run, the first quarter is recorded ahead", async () => {
    const plan = await sums(own().backend, 200);
    const x = Float32Array.of(1, 0);
    for (let i = 0; i < 2; i++) expect((await run(plan, x)).last).toBe(200);
    for (let i = 0; i < 3; i++) {
      const { last, made } = await run(plan, x);
      expect(last).toBe(200);
      expect(made).toEqual(["write", "submit", 32, "submit", 118, "copy", "submit", 50]);
    }
    const pending = [1, 2, 3].map((by) => plan.run({ x: x.map((value) => by * value) }).y!);
    for (const [i, y] of pending.entries()) expect(await y.data()).toEqual(Float32Array.of(i + 1, 200 * (i + 1)));
  });

  test("large inputs, large results and outputs on the device are recorded with their run", async () => {
    const long = await sums(own().backend, 1, 2 ** 14);
    const program = createProgram();
    const y = program.cumsum(program.input("x", "f32", [4]), { axis: 0 });
    program.output("y", y, { to: "device" });
    program.output("large", program.add(y, program.constant(new Float32Array(2 ** 15), "f32", [2 ** 13, 4])));
    const outputs = await own().backend.compile(program);
    for (let i = 0; i < 4; i++) {
      expect((await run(long, ones(2 ** 14))).made.at(-1)).toBe("submit");
      calls.length = 0;
      const { y, large } = outputs.run({ x: ones(4) });
      expect(await y!.data()).toEqual(Float32Array.of(1, 2, 3, 4));
      expect((await large!.data()).at(-1)).toBe(4);
      expect(calls.at(-1)).toBe("submit");
      y!.dispose();
      large!.dispose();
    }
  });

  test("outputs on the device are written by the parts that follow the recorded one, each run's to memory of its own", async () => {
    const program = createProgram();
    const count = 2 ** 18;
    let y = program.input("x", "f32", [1]);
    for (let i = 0; i < 40; i++) y = program.cumsum(y, { axis: 0 });
    program.output("y", program.add(y, program.constant(new Float32Array(count), "f32", [count])), { to: "device" });
    const plan = await own().backend.compile(program);
    const kept = [];
    for (const by of [1, 2, 3, 4]) {
      const result = plan.run({ x: Float32Array.of(by) }).y!;
      await result.ready();
      kept.push(result);
    }
    for (const [i, result] of kept.entries()) {
      const data = await result.data();
      expect([data[0], data.at(-1)]).toEqual([i + 1, i + 1]);
      result.dispose();
    }
  });

  test("plans that are disposed of, and aborted runs, leave the others their results", async () => {
    const [plan, other] = [await sums(own().backend, 2), await sums(own().backend, 2)];
    for (let i = 0; i < 3; i++) for (const each of [plan, other]) await run(each, ones(4));
    plan.dispose();
    const aborted = new AbortController();
    const reading = other.run({ x: ones(4) }, { signal: aborted.signal }).y!.data();
    aborted.abort();
    await expect(reading).rejects.toThrow("aborted");
    expect(await run(other, ones(4, 3))).toEqual({ last: 30, made: ["write", "submit", ...ahead] });
  });

  test("what was recorded for a lost device is not submitted to the next one", async () => {
    const { backend, device } = own();
    const plan = await sums(backend, 2);
    for (let i = 0; i < 3; i++) await run(plan, ones(4));
    const pending = plan.run({ x: ones(4) }).y!.data();
    device.destroy();
    await expect(pending).rejects.toThrow(DeviceLostError);
    await backend.recover!();
    calls.length = 0;
    logCalls(own().device, calls);
    expect(await run(plan, ones(4, 7))).toEqual({ last: 70, made: whole });
    for (let i = 0; i < 3; i++) expect((await run(plan, ones(4, i))).last).toBe(10 * i);
  });

  test("a backend that polls Dawn itself has the results, too", async () => {
    useSwiftShader();
    const backend = await webgpu().open();
    try {
      const plan = await sums(backend, 2);
      for (let i = 0; i < 200; i++) expect(await plan.run({ x: ones(4, i) }).y!.data()).toEqual(Float32Array.of(i, 3 * i, 6 * i, 10 * i));
      const pending = [1, 2, 3].map((by) => plan.run({ x: ones(4, by) }).y!.data());
      for (const [i, data] of (await Promise.all(pending)).entries()) expect(data.at(-1)).toBe(10 * (i + 1));
      await backend.idle();
    } finally {
      await backend.dispose();
    }
  });
});
