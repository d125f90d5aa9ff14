import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { sourceOf } from "@centella/conformance";
import {
  type Backend,
  createBatch,
  createProgram,
  DeviceLostError,
  DisposedError,
  KernelError,
  OutOfMemoryError,
  type TypedArray,
  UnsupportedError,
} from "@centella/core";
import { hostTensor, ops } from "@centella/core/backend";
import { blockLayout, dequantize } from "@centella/quant";
import { afterEach, expect, test } from "vitest";
import { webgpu } from "../../src/index.ts";
import { describeOpened } from "../support/describeOpened.ts";
import { openUnguarded } from "../support/openBackend.ts";

// Unguarded, because bind groups, passes and timestamps of runs are counted, and devices are lost.
await describeOpened("webgpu backend", openUnguarded(), ({ backend: probe }) => {
  const opened: Backend[] = [probe];
  const open = async () => {
    const result = await openUnguarded();
    opened.push(result.backend);
    return result;
  };
  afterEach(async () => {
    for (const backend of opened.splice(0)) await backend.dispose();
  });

  const doubling = (n: number) => {
    const program = createProgram();
    const x = program.input("x", "f32", [n]);
    program.output("y", program.scale(x, { by: 2 }));
    return program;
  };

  test("products with blocks of codes are fastest with codes where there are packed dot products, else with halves", async () => {
    const types = ["f32", "f16", "q8_0", "q4_K", "iq2_xs"] as const;
    const preferred = ({ backend }: Awaited<ReturnType<typeof open>>) => types.map((type) => backend.preferredActivations?.(type));
    expect(preferred(await open())).toEqual(["f32", "half", "ggml", "ggml", "ggml"]);
    const without = await openUnguarded({ disabledFeatures: ["packed_4x8_integer_dot_product"] });
    expect(preferred(without)).toEqual(["f32", "half", "half", "half", "half"]);
    await without.backend.dispose();
  });

  test("the device reports its limit for one tensor, and not its free memory", async () => {
    const { backend, device } = await open();
    expect(backend.deviceMemory?.()).toEqual({ largestTensor: device.limits.maxStorageBufferBindingSize });
  });

  test("a software adapter is named as one, and can be refused", async (ctx) => {
    const { backend } = await open();
    if (backend.device.kind !== "software-gpu") ctx.skip(`the adapter is a GPU: ${backend.device.name}`);
    expect(backend.device.name).toMatch(/SwiftShader|llvmpipe/i);
    await expect(webgpu({ allowSoftware: false }).open()).rejects.toThrow(/is a software adapter; pass allowSoftware/);
  });

  test("opening without an adapter is an UnsupportedError with the reason", async () => {
    const { wgslLanguageFeatures, getPreferredCanvasFormat } = await entry();
    const gpu: GPU = { __brand: "GPU", requestAdapter: async () => null, wgslLanguageFeatures, getPreferredCanvasFormat };
    await expect(webgpu({ gpu }).open()).rejects.toThrow(UnsupportedError);
    await expect(webgpu({ gpu }).open()).rejects.toThrow(/no WebGPU adapter/);
    await expect(webgpu({ gpu, unsafeFast: true }).open()).rejects.toThrow(/unsafeFast/);
    expect(() => webgpu({ unsafe: true } as never)).toThrow(/^webgpu: expected options among \{gpu, .*\}, got unsafe/);
  });

  test("a batch is one upload, one submission, one readback", async () => {
    const { backend } = await open();
    using batch = createBatch(backend);
    const x = batch.upload(Float32Array.of(1, -2, 3, -4), [2, 2]);
    const w = batch.upload(Float32Array.of(1, 1, 0, 1), [2, 2]);
    const y = batch.relu(batch.add(batch.matmul(x, w), batch.upload(Float32Array.of(1, 1))));
    await batch.execute();
    expect([...(await batch.read(y))]).toEqual([2, 0, 4, 0]);
    expect(backend.counters).toEqual({ uploads: 1, submits: 1, readbacks: 1, ops: { fused: 1 } });
  });

  test("relu, scale, add: one dispatch, one submission, one upload and one readback for both inputs", async () => {
    const { backend, device } = await open();
    const program = createProgram();
    const x = program.input("x", "f32", [8]);
    program.output("y", program.add(program.scale(program.relu(x), { by: 2 }), program.input("b", "f32", [8])));
    const plan = await backend.compile(program);
    const calls: string[] = [];
    const { queue } = device;
    const original = { submit: queue.submit, writeBuffer: queue.writeBuffer, createCommandEncoder: device.createCommandEncoder };
    queue.submit = (buffers) => {
      calls.push("submit");
      return original.submit.call(queue, buffers);
    };
    queue.writeBuffer = (...args: Parameters<GPUQueue["writeBuffer"]>) => {
      calls.push("write");
      return original.writeBuffer.apply(queue, args);
    };
    device.createCommandEncoder = (descriptor) => {
      const encoder = original.createCommandEncoder.call(device, descriptor);
      const begin = encoder.beginComputePass.bind(encoder);
      encoder.beginComputePass = (options) => {
        const pass = begin(options);
        const dispatch = pass.dispatchWorkgroups.bind(pass);
        pass.dispatchWorkgroups = (...groups) => {
          calls.push("dispatch");
          dispatch(...groups);
        };
        return pass;
      };
      return encoder;
    };
    const { y } = plan.run({ x: Float32Array.of(1, -2, 3, -4, 5, -6, 7, -8), b: new Float32Array(8).fill(1) });
    expect([...(await y!.data())]).toEqual([3, 1, 7, 1, 11, 1, 15, 1]);
    expect(calls.filter((call) => call === "dispatch")).toEqual(["dispatch"]);
    expect(calls.filter((call) => call === "submit")).toEqual(["submit"]);
    // Both inputs and the uniforms are staged together.
    expect(calls.filter((call) => call === "write").length).toBeLessThanOrEqual(1);
    expect(backend.counters).toEqual({ uploads: 1, submits: 1, readbacks: 1, ops: { fused: 1 } });
  });

  test("runs of other extents in the buckets of earlier ones create no bind groups", async () => {
    const { backend, device } = await open();
    let created = 0;
    const { createBindGroup } = device;
    device.createBindGroup = (descriptor) => {
      created++;
      return createBindGroup.call(device, descriptor);
    };
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("T", 20), 40]);
    const w = program.input("w", "f32", [30, 40]);
    const y = program.matmul(program.softmax(x), w, { transposeB: true });
    program.output("rows", program.embedding(y, program.input("rows", "i32", [program.dim("nRead", 8)])));
    program.output("best", program.argmax(y), { to: "device" });
    const plan = await backend.compile(program);
    const largest = Float32Array.from({ length: 30 * 40 }, (_, i) => Math.floor(i / 40));
    const run = async (rows: readonly number[], T: number): Promise<number> => {
      const before = created;
      const outputs = plan.run({ x: new Float32Array(T * 40), w: largest, rows: Int32Array.from(rows) });
      using best = outputs.best!;
      const read = await outputs.rows!.data();
      expect(read.length).toBe(30 * rows.length);
      read.forEach((value, i) => void expect(value).toBeCloseTo(i % 30, 4));
      expect(await best.data()).toEqual(new Int32Array(T).fill(29));
      return created - before;
    };
    expect(await run([0], 5)).toBeGreaterThan(2);
    for (const T of [6, 7, 8, 5]) expect(await run([T - 1], T)).toBe(0);
    expect(await run([1, 0, 4], 6)).toBeGreaterThan(2);
    expect(await run([6, 5, 0, 1], 7)).toBe(0);
    expect(await run([3], 20)).toBeGreaterThan(2);
    expect(await run([18], 19)).toBe(0);
    // Without rows, nothing is computed for them.
    expect(await run([], 5)).toBeGreaterThan(1);
    expect(await run([], 6)).toBe(0);
    expect(await run([], 0)).toBe(0);
  });

  test("bytes are read back for the rows that a run reads alone", async () => {
    const { backend, device } = await open();
    const staged: number[] = [];
    const { createBuffer } = device;
    device.createBuffer = (descriptor) => {
      if ((descriptor.usage & 1) === 1) staged.push(descriptor.size);
      return createBuffer.call(device, descriptor);
    };
    const program = createProgram();
    const y = program.scale(program.input("x", "f32", [program.dim("T", 8), 1000]), { by: 2 });
    program.output("rows", program.embedding(y, program.input("rows", "i32", [program.dim("nRead", 8)])));
    program.output("best", program.argmax(y));
    program.output("most", program.max(y, { axis: -1 }));
    const plan = await backend.compile(program);
    const x = Float32Array.from({ length: 1000 }, (_, i) => i);
    const { rows, best, most } = plan.run({ x, rows: new Int32Array(0) });
    const read = await Promise.all([rows!.data(), best!.data(), most!.data()]);
    expect(read.map((each) => [...each])).toEqual([[], [999], [1998]]);
    expect(Math.max(...staged)).toBeLessThanOrEqual(256);
  });

  test("a plan that is compiled in the background loads weights meanwhile, and its runs wait", async () => {
    const { backend, device } = await open();
    const compile = device.createComputePipelineAsync.bind(device);
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    device.createComputePipelineAsync = async (descriptor) => {
      await released;
      return compile(descriptor);
    };
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("T", 8), 4]);
    program.output("y", program.matmul(x, program.persistent("w", { dtype: "f32", shape: [4, 2] })));
    const plan = await backend.compile(program, { background: true });
    await plan.load("w", sourceOf(new Float32Array(8).fill(2)));
    const given = new Float32Array(4).fill(1);
    const output = plan.run({ x: given }).y!.data();
    given.fill(9);
    const prepared = plan.prepare!([{ T: 1 }, { T: 8 }]);
    release();
    await prepared;
    expect([...(await output)]).toEqual([8, 8]);
    const createBindGroup = device.createBindGroup.bind(device);
    let bindGroups = 0;
    device.createBindGroup = (descriptor) => {
      bindGroups++;
      return createBindGroup(descriptor);
    };
    expect([...(await plan.run({ x: new Float32Array(32).fill(1) }).y!.data())].slice(0, 2)).toEqual([8, 8]);
    expect(bindGroups).toBe(0);
    plan.dispose();
  });

  test("a kernel that fails in the background is reported by the runs", async () => {
    const { backend, device } = await open();
    device.createComputePipelineAsync = async () => {
      throw new Error("no pipeline today");
    };
    const plan = await backend.compile(doubling(1), { background: true });
    await expect(plan.run({ x: Float32Array.of(1) }).y!.data()).rejects.toThrow(KernelError);
    await expect(plan.prepare!([{}])).rejects.toThrow(/no pipeline today/);
    plan.dispose();
  });

  test("a profile has the device's time of each step, for any number of query sets", async () => {
    const { backend, device } = await open();
    const program = createProgram();
    let x = program.input("x", "f32", [8, 8]);
    const w = program.input("w", "f32", [8, 8]);
    for (let i = 0; i < 2100; i++) x = program.matmul(x, w);
    program.output("y", x);
    const plan = await backend.compile(program);
    const inputs = { x: new Float32Array(64), w: new Float32Array(64) };
    const sets: number[] = [];
    const createQuerySet = device.createQuerySet.bind(device);
    device.createQuerySet = (descriptor) => {
      sets.push(descriptor.count);
      return createQuerySet(descriptor);
    };
    const { steps, total } = await plan.profile(inputs);
    expect(sets).toEqual([4096, 104]);
    expect(steps.every(({ op, launches, microseconds }) => op === "matmul" && launches === 1 && microseconds >= 0)).toBe(true);
    expect(total).toBeGreaterThan(0);
    plan.dispose();
  });

  test("a device without timestamps refuses to profile, and says what to do", async () => {
    const { backend, device } = await open();
    Object.defineProperty(device, "features", { value: new Set() });
    const plan = await backend.compile(doubling(1));
    const refused = expect(plan.profile({ x: Float32Array.of(1) })).rejects;
    await refused.toThrow(UnsupportedError);
    const again = expect(plan.profile({ x: Float32Array.of(1) })).rejects;
    await again.toThrow(/no feature "timestamp-query"; use another browser or driver, or time whole runs with a clock/);
    expect([...(await plan.run({ x: Float32Array.of(1) }).y!.data())]).toEqual([2]);
    plan.dispose();
  });

  test("runs may be queued without waiting, and execute in order", async () => {
    const { backend } = await open();
    const program = createProgram();
    const x = program.input("x", "f32", [3]);
    const state = program.persistent("state", { dtype: "f32", shape: [3] }, { init: "zeros" });
    program.output("y", program.assign(state, program.add(program.scale(state, { by: 10 }), x)));
    const plan = await backend.compile(program);
    const outputs = [1, 2, 3, 4].map((v) => plan.run({ x: Float32Array.of(v, v, 0) }).y!);
    const results = await Promise.all(outputs.map((y) => y.data()));
    expect(results.map(([first]) => first)).toEqual([1, 12, 123, 1234]);
    plan.reset("state");
    const later = plan.run({ x: hostTensor({ dtype: "f32", shape: [3] }, Float32Array.of(7, 0, 0)) }).y!;
    const last = plan.run({ x: Float32Array.of(1, 0, 0) }).y!;
    expect([(await later.data())[0], (await last.data())[0]]).toEqual([7, 71]);
    plan.dispose();
  });

  test("dispatches beyond 65,535 workgroups take a second axis", async () => {
    const { backend } = await open();
    const n = 65_535 * 256 + 300;
    const plan = await backend.compile(doubling(n));
    const x = Float32Array.from({ length: n }, (_, i) => i % 1000);
    const y = await plan.run({ x }).y!.data();
    expect(y.findIndex((value, i) => value !== 2 * x[i]!)).toBe(-1);
    plan.dispose();
  });

  // Both above one chunk of loading. Kernels read q8_0 in stored form; iq3_s is recoded.
  for (const [dtype, rows, form] of [
    ["q8_0", 70_000, undefined],
    ["iq3_s", 160_000, "4-bit codes"],
  ] as const) {
    test(`weights of ${dtype} load in chunks and are saved byte for byte`, async () => {
      const { backend } = await open();
      const program = createProgram();
      const w = program.persistent("w", { dtype, shape: [rows, 256] });
      program.output("y", program.embedding(w, program.input("ids", "i32", [3])));
      const plan = await backend.compile(program);
      const { blockElements, blockBytes } = blockLayout(dtype);
      const rowBytes = (256 / blockElements) * blockBytes;
      const stored = new Uint8Array(rows * rowBytes);
      for (let block = 0; block < stored.length / blockBytes; block++) {
        stored.fill(block % 251, block * blockBytes, (block + 1) * blockBytes);
        // A scale of 1.
        stored.set([0x00, 0x3c], block * blockBytes);
      }
      await plan.load("w", sourceOf(stored));
      const ids = Int32Array.of(0, 15_421, rows - 1);
      const want = new Float32Array(3 * 256);
      ids.forEach(
        (id, i) => void dequantize(dtype, stored.subarray(id * rowBytes, (id + 1) * rowBytes), want.subarray(256 * i, 256 * i + 256)),
      );
      expect(await plan.run({ ids }).y!.data()).toEqual(want);
      expect(Buffer.compare(await bytesOf(plan.save("w")), stored)).toBe(0);
      const held = form === undefined ? stored.length : rows * 144;
      const warning = `webgpu: 1 weight of iq3_s held as ${form}, having no kernel of its own: 22.0 MiB in place of 16.8 MiB`;
      expect(plan.warnings).toEqual(form === undefined ? [] : [warning]);
      expect(backend.memory().persistents).toBe(held);
      plan.dispose();
      expect(backend.memory().persistents).toBe(0);
    });
  }

  test("unsupported returns the reason as a sentence", async () => {
    const { backend } = await open();
    const x = { dtype: "f32", shape: [1, 256] } as const;
    expect(backend.unsupported({ ...ops.relu, name: "fft" }, [x], {}, x)).toBe("there is no kernel for fft yet");
  });

  test("a lost device rejects pending calls and refuses new ones", async () => {
    const { backend, device } = await open();
    const plan = await backend.compile(doubling(4));
    const pending = plan.run({ x: new Float32Array(4) }).y!;
    device.destroy();
    await expect(pending.data()).rejects.toThrow(DeviceLostError);
    await device.lost;
    expect(() => plan.run({ x: new Float32Array(4) })).toThrow(DeviceLostError);
    await expect(backend.compile(doubling(4))).rejects.toThrow(DeviceLostError);
    await expect(backend.idle()).rejects.toThrow(DeviceLostError);
    expect(() => backend.upload({ dtype: "f32", shape: [1] }, new Float32Array(1))).toThrow(DeviceLostError);
  });

  test("Node exits by itself after dispose", async () => {
    const script = fileURLToPath(new URL("../support/exits.ts", import.meta.url));
    const child = spawn(process.execPath, ["--conditions=@centella/source", script], { stdio: ["ignore", "pipe", "inherit"] });
    const output = await child.stdout.toArray();
    expect(Buffer.concat(output).toString()).toBe("2,4\n");
    expect(child.exitCode ?? (await once(child, "exit"))[0]).toBe(0);
  });

  test("every call after dispose is refused with the reason", async () => {
    const { backend } = await open();
    const plan = await backend.compile(doubling(4));
    await backend.dispose();
    expect(() => plan.run({ x: new Float32Array(4) })).toThrow(DisposedError);
    await expect(backend.compile(doubling(4))).rejects.toThrow(DisposedError);
  });

  test("an error that the device raises by itself reaches the next call", async () => {
    const { backend, device } = await open();
    const plan = await backend.compile(doubling(4));
    device.createBuffer({ size: 4, usage: 0x1 | 0x80 });
    await device.queue.onSubmittedWorkDone();
    expect(() => plan.run({ x: new Float32Array(4) })).toThrow(KernelError);
    expect([...(await plan.run({ x: Float32Array.of(1, 2, 3, 4) }).y!.data())]).toEqual([2, 4, 6, 8]);
  });

  test("memory that the device has not, and failures of its driver, are no bugs of kernels", async () => {
    const { backend, device } = await open();
    const plan = await backend.compile(doubling(1));
    const { globals } = await import("webgpu");
    const raised = (type: "GPUOutOfMemoryError" | "GPUInternalError" | "GPUValidationError"): unknown => {
      // The package's types do not say that its globals have the classes of errors, which Node itself has not.
      const { [type]: Raised } = globals as unknown as Record<typeof type, new (message: string) => GPUError>;
      device.dispatchEvent(Object.assign(new Event("uncapturederror"), { error: new Raised("heap 1 is full") }));
      try {
        return plan.run({ x: Float32Array.of(1) });
      } catch (error) {
        return error;
      }
    };
    const name = `webgpu (${backend.device.name})`;
    const memory = raised("GPUOutOfMemoryError");
    expect(memory).toBeInstanceOf(OutOfMemoryError);
    expect(memory).toMatchObject({
      message: `${name}: expected more bytes of free memory, got too few; heap 1 is full; use a smaller model, a shorter context or another backend`,
      requested: undefined,
    });
    const internal = raised("GPUInternalError");
    expect(internal).toMatchObject({ name: "CentellaError", code: "webgpu" });
    expect(String(internal)).toMatch("the driver failed: heap 1 is full; update the driver, or use smaller tensors or another backend");
    expect(raised("GPUValidationError")).toBeInstanceOf(KernelError);
    expect([...(await plan.run({ x: Float32Array.of(1) }).y!.data())]).toEqual([2]);
  });

  test("a disposed input of a queued run stays alive for it", async () => {
    const { backend } = await open();
    const program = createProgram();
    const [a, b] = [program.input("a", "f32", [2]), program.input("b", "f32", [2])];
    program.output("y", program.add(a, b), { to: "device" });
    const plan = await backend.compile(program);
    const spec = { dtype: "f32", shape: [2] } as const;
    const onDevice = backend.upload(spec, Float32Array.of(1, 2));
    // A host tensor is read asynchronously, so the run waits in the queue.
    const y = plan.run({ a: onDevice, b: hostTensor(spec, Float32Array.of(10, 20)) }).y!;
    onDevice.dispose();
    plan.dispose();
    const other = backend.upload(spec, Float32Array.of(5, 5));
    expect([...(await y.data())]).toEqual([11, 22]);
    y.dispose();
    other.dispose();
    expect(backend.memory().tensors).toBe(0);
  });
});

async function entry(): Promise<GPU> {
  const { create } = await import("webgpu");
  return create([]);
}

async function bytesOf(array: Promise<TypedArray>): Promise<Uint8Array> {
  const { buffer, byteOffset, byteLength } = await array;
  return new Uint8Array(buffer, byteOffset, byteLength);
}
