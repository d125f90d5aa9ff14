import { contentsOf, sourceOf } from "@centella/conformance";
import { type Backend, createProgram, type TensorSource } from "@centella/core";
import { dequantize } from "@centella/quant";
import { afterAll, beforeEach, expect, test } from "vitest";
import { usage } from "../../src/device/usage.ts";
import { describeOpened } from "../support/describeOpened.ts";
import { openUnguarded } from "../support/openBackend.ts";

const mebibyte = 2 ** 20;
/** Elements of f32 in 128 KiB. */
const large = 2 ** 15;

// Unguarded, because sizes of buffers and calls of the device are counted.
await describeOpened("webgpu transfers", openUnguarded(), ({ backend, device }) => {
  afterAll(() => backend.dispose());

  /** Sizes in bytes of the buffers that were created for the host to write or read, and of calls of `writeBuffer`. */
  const mapped: number[] = [];
  const written: number[] = [];
  /** Bytes of all buffers that the host writes. */
  let ringBytes = 0;
  /** Copies of mapped results. */
  const copies: ArrayBuffer[] = [];
  const { createBuffer } = device;
  device.createBuffer = (descriptor) => {
    if ((descriptor.usage & (usage.mapWrite | usage.mapRead)) !== 0) mapped.push(descriptor.size);
    const buffer = createBuffer.call(device, descriptor);
    if ((descriptor.usage & usage.mapRead) !== 0) countCopies(buffer, copies);
    if ((descriptor.usage & usage.mapWrite) !== 0) {
      ringBytes += descriptor.size;
      const { destroy } = buffer;
      buffer.destroy = () => {
        ringBytes -= descriptor.size;
        return destroy.call(buffer);
      };
    }
    return buffer;
  };
  const { writeBuffer } = device.queue;
  device.queue.writeBuffer = (...args: Parameters<GPUQueue["writeBuffer"]>) => {
    written.push(args[4] ?? (args[2] as ArrayBuffer).byteLength);
    return writeBuffer.apply(device.queue, args);
  };
  beforeEach(() => {
    mapped.length = 0;
    written.length = 0;
    copies.length = 0;
  });

  test("large inputs go through mapped memory, which the next run uses again", async () => {
    const program = createProgram();
    const sum = program.add(program.input("a", "f32", [large]), program.input("b", "f32", [large]));
    program.output("y", program.add(sum, program.input("row", "f32", [1])), { to: "device" });
    const plan = await backend.compile(program);
    written.length = 0;
    const target = new Float32Array(large);
    const [a, b] = [1, 2].map((by) => Float32Array.from({ length: large }, (_, i) => by * i));
    for (const add of [0.5, 1.5, 2.5]) {
      const before = { ...backend.counters };
      using y = plan.run({ a: a!, b: b!, row: Float32Array.of(add) }).y!;
      await y.readInto(target);
      expect(target.findIndex((value, i) => value !== 3 * i + add)).toBe(-1);
      expect(backend.counters.uploads - before.uploads).toBe(1);
      await backend.idle();
    }
    // Both inputs and the result.
    expect(mapped).toEqual([4 * large, 4 * large, 4 * large]);
    expect(Math.max(...written)).toBeLessThan(2 ** 12);
    plan.dispose();
  });

  test("large outputs on the device are written where they stay, each run's in memory of its own", async () => {
    const count = 2 ** 18;
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("n", count)]);
    const shifted = program.add(x, program.input("by", "f32", [1]));
    program.output("shifted", shifted, { to: "device" });
    program.output("square", program.mul(shifted, shifted), { to: "device" });
    program.output("total", program.sum(shifted), { to: "device" });
    const plan = await backend.compile(program);
    const copied: number[] = [];
    const { createCommandEncoder } = device;
    device.createCommandEncoder = (...args) => {
      const encoder = createCommandEncoder.apply(device, args);
      const { copyBufferToBuffer } = encoder;
      encoder.copyBufferToBuffer = (...copy: readonly unknown[]) => {
        copied.push(Number(copy.at(-1)));
        return copyBufferToBuffer.apply(encoder, copy as Parameters<typeof copyBufferToBuffer>);
      };
      return encoder;
    };
    const zeros = new Float32Array(count);
    const runs = [1, 2, 3].map((by) => plan.run({ x: zeros, by: Float32Array.of(by) }));
    await backend.idle();
    device.createCommandEncoder = createCommandEncoder;
    // The inputs of each run, and the sum.
    expect(copied.filter((bytes) => bytes === 4)).toHaveLength(3);
    expect(copied.filter((bytes) => bytes > 4)).toEqual([4 * count, 4 * count, 4 * count]);
    for (const [i, { shifted: y, square, total }] of runs.entries()) {
      expect((await y!.data()).every((value) => value === i + 1)).toBe(true);
      expect((await square!.data()).every((value) => value === (i + 1) ** 2)).toBe(true);
      expect(await total!.data()).toEqual(Float32Array.of((i + 1) * count));
    }
    // A run of fewer elements copies its results, which are small.
    const { shifted: few } = plan.run({ x: new Float32Array(3), by: Float32Array.of(5) });
    expect(await few!.data()).toEqual(Float32Array.of(5, 5, 5));
    plan.dispose();
  });

  test("tensors of any size arrive", async () => {
    for (const length of [0, 1, 3, large - 1, large, large + 1]) {
      const data = Uint8Array.from({ length: 2 * length + 1 }, (_, i) => i % 251);
      using tensor = backend.upload({ dtype: "u8", shape: [data.length] }, data);
      expect(await tensor.data()).toEqual(data);
    }
    expect(mapped.length).toBeGreaterThan(0);
  });

  test("loads of one weight that are under way together end with the content of the last call, whole", async () => {
    const program = createProgram();
    program.output("sum", program.sum(program.persistent("w", { dtype: "f32", shape: [large] })));
    const plan = await backend.compile(program);
    const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
    const steps: string[] = [];
    // Sources that fill a quarter in each turn of the event loop.
    const slow = (value: number): TensorSource => ({
      size: 4 * large,
      read: () => Promise.reject(new Error("the source fills given memory")),
      readInto: async ({ buffer, byteOffset }) => {
        for (let i = 0; i < 4; i++) {
          new Float32Array(buffer, byteOffset + i * large, large / 4).fill(value);
          steps.push(`${value}.${i}`);
          await turn();
        }
      },
    });
    const failing: TensorSource = { ...slow(0), readInto: () => Promise.reject(new Error("the disk is gone")) };
    const loads = [slow(1), slow(2), failing, slow(3)].map((source) => plan.load("w", source));
    const results = await Promise.allSettled(loads);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(steps).toEqual([1, 2, 3].flatMap((value) => [0, 1, 2, 3].map((i) => `${value}.${i}`)));
    expect(await plan.save("w")).toEqual(new Float32Array(large).fill(3));
    expect([...(await plan.run({}).sum!.data())]).toEqual([3 * large]);
    plan.dispose();
  });

  test("blocks that the device spaces are saved, read and loaded as they were stored", async () => {
    const spec = { dtype: "q6_K", shape: [700, 256] } as const;
    const { stored } = contentsOf(spec, 1);
    using tensor = backend.upload(spec, stored);
    expect(await tensor.data()).toEqual(stored);
    const target = new Uint8Array(stored.length);
    await tensor.readInto(target);
    expect(target).toEqual(stored);
    const program = createProgram();
    const w = program.persistent("w", spec);
    program.output("rows", program.embedding(w, program.constant(Int32Array.of(0, 311, 699), "i32", [3])));
    const plan = await backend.compile(program);
    await plan.load("w", sourceOf(stored));
    expect(await plan.save("w")).toEqual(stored);
    const expected = new Float32Array(700 * 256);
    dequantize("q6_K", stored as Uint8Array, expected);
    const rows = (await plan.run({}).rows!.data()) as Float32Array;
    for (const [i, row] of [0, 311, 699].entries())
      expect(rows.subarray(256 * i, 256 * (i + 1))).toEqual(expected.subarray(256 * row, 256 * (row + 1)));
    plan.dispose();
  });

  /** A source that counts up, and writes to given memory alone. */
  const counting = (bytes: number, seen: Uint8Array[], failsAt = Number.POSITIVE_INFINITY): TensorSource => ({
    size: bytes,
    read: async () => {
      throw new Error("expected no read that returns bytes");
    },
    readInto: async (target, offset) => {
      seen.push(target);
      if (offset >= failsAt) throw new Error("the disk is gone");
      const words = new Uint32Array(target.buffer, target.byteOffset, target.length / 4);
      for (let i = 0; i < words.length; i += 1024) words[i] = offset / 4 + i;
    },
  });

  const weights = (backend: Backend, count: number, elements: number) => {
    const program = createProgram();
    const ids = program.input("ids", "i32", [1]);
    for (let i = 0; i < count; i++) {
      const table = program.persistent(`w${i}`, { dtype: "i32", shape: [elements / 1024, 1024] });
      program.output(`y${i}`, program.gather(table, ids, { axis: 0 }));
    }
    return backend.compile(program);
  };

  test("sources fill mapped memory, a bounded amount of it whatever the weights", async () => {
    const elements = 10 * mebibyte;
    const plan = await weights(backend, 4, elements);
    const seen: Uint8Array[] = [];
    for (let i = 0; i < 4; i++) await plan.load(`w${i}`, counting(4 * elements, seen));
    expect(seen.length).toBe(12);
    await backend.idle();
    // Unmapped memory has no bytes any more: what the source filled is what the device copies.
    expect(seen.every(({ byteLength }) => byteLength === 0)).toBe(true);
    expect(mapped.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(64 * mebibyte);
    expect(written).toEqual([]);
    const row = elements / 1024 - 1;
    const outputs = plan.run({ ids: Int32Array.of(row) });
    for (let i = 0; i < 4; i++) expect((await outputs[`y${i}`]!.data())[0]).toBe(row * 1024);
    plan.dispose();
  });

  test("weights of many sizes hold a bounded amount of mapped memory", async () => {
    const bytes: number[] = [];
    // Sizes that share no buffers.
    for (let size = 15 * mebibyte; bytes.length < 9; size *= 0.85) bytes.push(4096 * Math.floor(size / 4096));
    expect(bytes.reduce((sum, size) => sum + size)).toBeGreaterThan(70 * mebibyte);
    const program = createProgram();
    const ids = program.input("ids", "i32", [1]);
    for (const [i, size] of bytes.entries()) {
      const table = program.persistent(`w${i}`, { dtype: "i32", shape: [size / 4096, 1024] });
      program.output(`y${i}`, program.gather(table, ids, { axis: 0 }));
    }
    const plan = await backend.compile(program);
    for (const [i, size] of bytes.entries()) {
      await plan.load(`w${i}`, counting(size, []));
      expect(ringBytes).toBeLessThanOrEqual(64 * mebibyte);
    }
    await backend.idle();
    expect((await plan.run({ ids: Int32Array.of(7) }).y8!.data())[0]).toBe(7 * 1024);
    plan.dispose();
  });

  test("a load that fails gives its memory back", async () => {
    const elements = mebibyte;
    const plan = await weights(backend, 1, elements);
    await expect(plan.load("w0", counting(4 * elements, [], 0))).rejects.toThrow("the disk is gone");
    const held = backend.memory().other;
    for (let i = 0; i < 3; i++) await expect(plan.load("w0", counting(4 * elements, [], 0))).rejects.toThrow("the disk is gone");
    await plan.load("w0", counting(4 * elements, []));
    await backend.idle();
    expect(backend.memory().other).toBe(held);
    expect((await plan.run({ ids: Int32Array.of(5) }).y0!.data())[0]).toBe(5 * 1024);
    plan.dispose();
  });

  test("results are read where they are asked for, by one mapping each", async () => {
    const data = Float32Array.from({ length: large }, (_, i) => i);
    using tensor = backend.upload({ dtype: "f32", shape: [large] }, data);
    const before = backend.counters.readbacks;
    const target = new Float32Array(large);
    for (let i = 0; i < 3; i++) await tensor.readInto(target.fill(0));
    expect(target).toEqual(data);
    expect(backend.counters.readbacks - before).toBe(3);
    expect(mapped.length).toBeLessThanOrEqual(2);
  });

  /** A program that adds one to `count` numbers, for a host output of as many. */
  const adding = (backend: Backend, count: number) => {
    const program = createProgram();
    program.output("y", program.add(program.input("x", "f32", [count]), program.constant(Float32Array.of(1), "f32", [1])));
    return backend.compile(program);
  };

  test("a result is copied once, to the array that the reader gets or gives", async () => {
    const plan = await adding(backend, large);
    const x = Float32Array.from({ length: large }, (_, i) => i);
    const expected = x.map((value) => value + 1);
    using y = plan.run({ x }).y!;
    const data = await y.data();
    expect(data).toEqual(expected);
    expect(copies).toEqual([data.buffer]);
    // Readers own what they get.
    data.fill(7);
    const target = new Float32Array(large);
    await y.readInto(target);
    expect(target).toEqual(expected);
    expect(copies).toHaveLength(1);
    expect(await y.data()).toEqual(expected);
    plan.dispose();
  });

  test("a result that is freed gives its memory to the next run, waiting readers first", async () => {
    const plan = await adding(backend, large);
    const x = new Float32Array(large);
    await backend.idle();
    const held: number[] = [];
    for (let i = 0; i < 4; i++) {
      const { y } = plan.run({ x });
      const data = y!.data();
      y!.dispose();
      expect((await data)[large - 1]).toBe(1);
      const aborted = new AbortController();
      const reading = plan.run({ x }, { signal: aborted.signal }).y!.data();
      aborted.abort();
      await expect(reading).rejects.toThrow();
      await backend.idle();
      held.push(backend.memory().other);
    }
    expect(new Set(held).size).toBe(1);
    plan.dispose();
  });

  test("results that no caller frees hold a bounded amount of mapped memory", async () => {
    const count = 5 * mebibyte;
    const plan = await adding(backend, count);
    const x = new Float32Array(count);
    const results = [];
    for (let i = 0; i < 5; i++) {
      const { y } = plan.run({ x: x.fill(i) });
      await y!.ready();
      results.push(y!);
    }
    // Four of 20 MiB would be more than 64 MiB.
    expect(copies).toHaveLength(2);
    for (const [i, y] of results.entries()) expect((await y.data())[count - 1]).toBe(i + 1);
    for (const y of results) y.dispose();
    plan.dispose();
  });

  test("the buffer of a small result is unmapped after the next submission, while the device works, and then used again", async () => {
    const order: string[] = [];
    const counted = device.createBuffer;
    device.createBuffer = (descriptor) => {
      const buffer = counted.call(device, descriptor);
      const { unmap } = buffer;
      buffer.unmap = () => {
        order.push("unmap");
        return unmap.call(buffer);
      };
      return buffer;
    };
    const { submit } = device.queue;
    device.queue.submit = (buffers) => {
      order.push("submit");
      return submit.call(device.queue, buffers);
    };
    // No other test reads this size, so the buffers are new ones.
    const count = 2000;
    using tensor = backend.upload({ dtype: "f32", shape: [count] }, new Float32Array(count).fill(3));
    await backend.idle();
    order.length = 0;
    for (let i = 0; i < 4; i++) expect((await tensor.data())[count - 1]).toBe(3);
    device.createBuffer = counted;
    device.queue.submit = submit;
    expect(order).toEqual(["submit", "submit", "unmap", "submit", "unmap", "submit", "unmap"]);
    expect(mapped).toHaveLength(2);
  });

  test("a mapping that fails gives its memory up, and the next one works", async () => {
    // No other test reads this size, so the buffer is a new one.
    const count = 3 * large;
    using tensor = backend.upload({ dtype: "f32", shape: [count] }, new Float32Array(count).fill(3));
    await backend.idle();
    const held = backend.memory().other;
    const counted = device.createBuffer;
    device.createBuffer = (descriptor) => {
      const buffer = counted.call(device, descriptor);
      buffer.mapAsync = () => Promise.reject(new DOMException("no mapping today", "OperationError"));
      return buffer;
    };
    for (let i = 0; i < 3; i++) await expect(tensor.data()).rejects.toThrow("no mapping today");
    device.createBuffer = counted;
    expect(backend.memory().other).toBe(held);
    expect((await tensor.data())[count - 1]).toBe(3);
  });
});

/** Adds to `copies` whatever is sliced from the buffer's mapped memory. */
function countCopies(buffer: GPUBuffer, copies: ArrayBuffer[]): void {
  const { getMappedRange } = buffer;
  buffer.getMappedRange = (...range) => {
    const memory = getMappedRange.apply(buffer, range);
    memory.slice = (...part) => {
      const copy = ArrayBuffer.prototype.slice.apply(memory, part);
      copies.push(copy);
      return copy;
    };
    return memory;
  };
}
