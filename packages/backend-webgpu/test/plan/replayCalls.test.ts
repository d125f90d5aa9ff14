import { createProgram, type Plan } from "@centella/core";
import { afterAll, expect, test } from "vitest";
import { describeOpened } from "../support/describeOpened.ts";
import { openUnguarded } from "../support/openBackend.ts";

/** Counts calls by name, of methods whose results count theirs, too. */
function counted<T extends object>(target: T, counts: Map<string, number>): T {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        counts.set(String(name), (counts.get(String(name)) ?? 0) + 1);
        const result: unknown = value.apply(target, args);
        return name === "beginComputePass" ? counted(result as object, counts) : result;
      };
    },
  });
}

// Unguarded, because calls of the device are counted.
await describeOpened("calls of a run", openUnguarded(), ({ backend, device }) => {
  afterAll(() => backend.dispose());

  const counts = new Map<string, number>();
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const { createCommandEncoder, createBuffer, createBindGroup } = device;
  device.createCommandEncoder = (descriptor) => counted(createCommandEncoder.call(device, descriptor), counts);
  device.createBuffer = (descriptor) => {
    count("createBuffer");
    return createBuffer.call(device, descriptor);
  };
  device.createBindGroup = (descriptor) => {
    count("createBindGroup");
    return createBindGroup.call(device, descriptor);
  };
  const { submit, writeBuffer } = device.queue;
  device.queue.submit = (buffers) => {
    count("submit");
    return submit.call(device.queue, buffers);
  };
  device.queue.writeBuffer = (...args: Parameters<GPUQueue["writeBuffer"]>) => {
    count("writeBuffer");
    return writeBuffer.apply(device.queue, args);
  };

  /** The calls of a plan's third run. */
  async function callsOf(plan: Plan, want: readonly number[]): Promise<Record<string, number>> {
    for (let i = 0; i < 3; i++) {
      counts.clear();
      using y = plan.run({ x: Float32Array.of(1, 1) }).y!;
      const data = await y.data();
      for (const [at, value] of data.entries()) expect(value).toBeCloseTo(want[at]!, 5);
    }
    plan.dispose();
    return Object.fromEntries(counts);
  }

  test("equal dispatches set their pipeline once", async () => {
    const program = createProgram();
    let y = program.input("x", "f32", [2]);
    for (let i = 0; i < 20; i++) y = program.softmax(y);
    program.output("y", y);
    expect(await callsOf(await backend.compile(program), [0.5, 0.5])).toEqual({
      beginComputePass: 1,
      setPipeline: 1,
      setBindGroup: 20,
      dispatchWorkgroups: 20,
      end: 1,
      copyBufferToBuffer: 1,
      finish: 1,
      writeBuffer: 1,
      submit: 1,
    });
  });

  test("pipelines that take turns are set each time", async () => {
    const program = createProgram();
    let y = program.input("x", "f32", [2]);
    for (let i = 0; i < 3; i++) y = program.cumsum(program.softmax(y), { axis: 0 });
    program.output("y", y);
    const { setPipeline, setBindGroup, dispatchWorkgroups } = await callsOf(await backend.compile(program), wanted(3));
    expect([setPipeline, setBindGroup, dispatchWorkgroups]).toEqual([6, 6, 6]);
  });
});

/** Softmax and cumulative sum of two numbers, `times` times. */
function wanted(times: number): readonly number[] {
  let pair = [1, 1];
  for (let i = 0; i < times; i++) {
    const [a, b] = pair.map(Math.exp) as [number, number];
    pair = [a / (a + b), 1];
  }
  return pair;
}
