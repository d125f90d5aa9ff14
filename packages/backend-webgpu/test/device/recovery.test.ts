import { sourceOf } from "@centella/conformance";
import { type Backend, createProgram, DeviceLostError, type Plan, type TensorSource, UnsupportedError } from "@centella/core";
import { afterEach, expect, test, vi } from "vitest";
import { describeOpened } from "../support/describeOpened.ts";
import { openUnguarded } from "../support/openBackend.ts";

const w = Float32Array.of(10, 20, 30, 40);

// Unguarded, because checks need the device that is lost.
await describeOpened("recovery of a lost device", openUnguarded(), ({ backend: probe }) => {
  const opened: Backend[] = [probe];
  const open = async () => {
    const result = await openUnguarded();
    opened.push(result.backend);
    return result;
  };
  afterEach(async () => {
    for (const backend of opened.splice(0)) await backend.dispose();
  });

  /** `y = w + sum of all x`: a weight, and a state that every run adds to. */
  const running = () => {
    const program = createProgram();
    const state = program.persistent("state", { dtype: "f32", shape: [4] }, { init: "zeros" });
    const sum = program.assign(state, program.add(state, program.input("x", "f32", [4])));
    program.output("y", program.add(sum, program.persistent("w", { dtype: "f32", shape: [4] })));
    return program;
  };
  const ones = new Float32Array(4).fill(1);
  const first = async (plan: Plan) => (await plan.run({ x: ones }).y!.data())[0];

  test("plans go on with their weights, and their state begins again", async () => {
    const it = await open();
    const { backend } = it;
    const plan = await backend.compile(running());
    let reads = 0;
    const source = sourceOf(w);
    await plan.load("w", { ...source, read: (...call) => source.read(...call).finally(() => reads++) });
    const other = await backend.compile(running(), { shareWith: plan });
    expect([await first(plan), await first(plan), await first(other)]).toEqual([11, 12, 13]);
    const onDevice = backend.upload({ dtype: "f32", shape: [4] }, ones);
    const pending = [plan.run({ x: ones }).y!.data(), plan.save("w"), onDevice.data()];
    it.device.destroy();
    for (const result of pending) await expect(result).rejects.toThrow(DeviceLostError);
    expect(() => plan.run({ x: ones })).toThrow(/await backend.recover\(\), or open the backend again/);
    const { uploads } = backend.counters;
    const recovery = await backend.recover!();
    expect(recovery.reset).toEqual([
      { plan, name: "state" },
      { plan: other, name: "state" },
    ]);
    expect(reads).toBe(2);
    expect([await first(plan), await first(other), await first(plan)]).toEqual([11, 12, 13]);
    expect(backend.counters.uploads).toBe(uploads + 3);
    expect(await plan.save("w")).toEqual(w);
    await expect(onDevice.data()).rejects.toThrow(DeviceLostError);
    await expect(plan.run({ x: onDevice }).y!.data()).rejects.toThrow(DeviceLostError);
    // A second loss is recovered from like the first.
    it.device.destroy();
    await it.device.lost;
    await backend.recover!();
    expect(await first(other)).toBe(11);
    expect(backend.memory()).toMatchObject({ persistents: 32, tensors: 0 });
  });

  test("results that were computed outlive their backend, but large ones not the loss of a device", async () => {
    const count = 2 ** 16;
    const results = async ({ backend }: { readonly backend: Backend }) => {
      const program = createProgram();
      const x = program.input("x", "f32", [count]);
      program.output("large", program.add(x, x));
      const plan = await backend.compile(program);
      const { large } = plan.run({ x: new Float32Array(count).fill(1) });
      await large!.ready();
      return large!;
    };
    const disposed = await open();
    const kept = await results(disposed);
    await disposed.backend.dispose();
    expect(await kept.data()).toEqual(new Float32Array(count).fill(2));
    const lost = await open();
    const gone = await results(lost);
    lost.device.destroy();
    await lost.device.lost;
    await expect(gone.data()).rejects.toThrow(DeviceLostError);
    await expect(gone.readInto(new Float32Array(count))).rejects.toThrow(DeviceLostError);
    gone.dispose();
    await lost.backend.recover!();
    expect(await (await results(lost)).data()).toEqual(new Float32Array(count).fill(2));
  });

  test("a device that works is left alone", async () => {
    const { backend } = await open();
    const plan = await backend.compile(running());
    await plan.load("w", sourceOf(w));
    await first(plan);
    expect(await backend.recover!()).toEqual({ reset: [] });
    expect(await first(plan)).toBe(12);
  });

  test("what fails before the loss is reported is a loss too", async () => {
    const it = await open();
    const { backend } = it;
    const plan = await backend.compile(running());
    await plan.load("w", sourceOf(w));
    const { device } = it;
    // As in Chrome, where mapping fails first.
    const { createBuffer } = device;
    device.createBuffer = (descriptor) => {
      const buffer = createBuffer.call(device, descriptor);
      buffer.mapAsync = async () => {
        setImmediate(() => device.destroy());
        throw new DOMException("the buffer was destroyed", "AbortError");
      };
      return buffer;
    };
    // However long the report takes on this machine, the wait for it does not end first.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      await expect(plan.run({ x: ones }).y!.data()).rejects.toThrow(DeviceLostError);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
    expect((await backend.recover!()).reset).toHaveLength(1);
    expect(await first(plan)).toBe(11);
  });

  test("a load that the loss ended is not finished by recovery", async () => {
    const it = await open();
    const { backend } = it;
    const plan = await backend.compile(running());
    let proceed = (): void => undefined;
    const waiting = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    let targets = 0;
    const slow: TensorSource = {
      size: 16,
      read: async () => {
        await waiting;
        targets++;
        return new Uint8Array(w.buffer);
      },
    };
    const loading = plan.load("w", slow);
    const queued = plan.load("w", sourceOf(w));
    it.device.destroy();
    await expect(loading).rejects.toThrow(DeviceLostError);
    await expect(queued).rejects.toThrow(DeviceLostError);
    const recovering = backend.recover!();
    proceed();
    await recovering;
    expect(targets).toBe(1);
    expect(() => plan.run({ x: ones })).toThrow(/expected every weight to be loaded, got none for w/);
    await plan.load("w", sourceOf(w));
    expect(await first(plan)).toBe(11);
  });

  test("programs that were being compiled reject", async () => {
    const it = await open();
    const { backend } = it;
    const compile = it.device.createComputePipelineAsync;
    it.device.createComputePipelineAsync = () => new Promise(() => undefined);
    const compiling = backend.compile(running());
    const background = await backend.compile(running(), { background: true });
    const prepared = background.prepare!([{}]);
    it.device.createComputePipelineAsync = compile;
    it.device.destroy();
    await expect(compiling).rejects.toThrow(DeviceLostError);
    await expect(prepared).rejects.toThrow(DeviceLostError);
    await backend.recover!();
    await background.load("w", sourceOf(w));
    expect(await first(background)).toBe(11);
  });

  test("a source that fails leaves the device lost, until it can be read", async () => {
    const it = await open();
    const { backend } = it;
    const plan = await backend.compile(running());
    const source = sourceOf(w);
    let isGone = false;
    const read: TensorSource["read"] = async (...call) => {
      if (isGone) throw new Error("the disk is gone");
      return source.read(...call);
    };
    await plan.load("w", { ...source, read });
    const disposed = await backend.compile(running(), { shareWith: plan });
    it.device.destroy();
    await it.device.lost;
    isGone = true;
    await expect(backend.recover!()).rejects.toThrow("the disk is gone");
    expect(() => plan.run({ x: ones })).toThrow(DeviceLostError);
    isGone = false;
    const recovering = backend.recover!();
    disposed.dispose();
    await recovering;
    expect(await first(plan)).toBe(11);
    plan.dispose();
    expect(backend.memory().persistents).toBe(0);
  });

  test("another device is refused", async () => {
    const it = await open();
    const { backend, gpu } = it;
    const plan = await backend.compile(running());
    it.device.destroy();
    await it.device.lost;
    const { requestAdapter } = gpu;
    Object.assign(gpu, { requestAdapter: async () => null });
    await expect(backend.recover!()).rejects.toThrow(UnsupportedError);
    Object.assign(gpu, {
      requestAdapter: async (options: GPURequestAdapterOptions) => {
        const adapter = (await requestAdapter(options))!;
        return { ...adapter, features: new Set() };
      },
    });
    await expect(backend.recover!()).rejects.toThrow(/recover: unsupported: the device is now .*, with other features/);
    expect(() => plan.run({ x: ones })).toThrow(DeviceLostError);
  });
});
