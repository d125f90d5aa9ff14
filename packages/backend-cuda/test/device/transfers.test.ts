import { createProgram, type Plan, type TypedArray } from "@centella/core";
import { beforeEach, describe, expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import type { Handle } from "../../src/device/driver.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

const mebibyte = 2 ** 20;

/** Keeps a list of the transfers, and counts page-locked memory. */
class ListedDriver extends InterpretedDriver {
  readonly calls: string[] = [];
  /** What the host copied results to. */
  readonly targets: ArrayBufferLike[] = [];
  pinnedBytes = 0;
  mostPinnedBytes = 0;
  readonly #sizes = new Map<Handle, number>();

  override allocPinned(bytes: number): Handle {
    const handle = super.allocPinned(bytes);
    this.#sizes.set(handle, bytes);
    this.pinnedBytes += bytes;
    this.mostPinnedBytes = Math.max(this.mostPinnedBytes, this.pinnedBytes);
    return handle;
  }

  override freePinned(memory: Handle): void {
    this.pinnedBytes -= this.#sizes.get(memory)!;
    super.freePinned(memory);
  }

  override writePinned(memory: Handle, offset: number, data: Uint8Array): void {
    this.calls.push(`write ${data.length}`);
    super.writePinned(memory, offset, data);
  }

  override readPinned(memory: Handle, offset: number, into: Uint8Array): void {
    this.calls.push(`read ${into.length}`);
    this.targets.push(into.buffer);
    super.readPinned(memory, offset, into);
  }

  override copyToDevice(to: Handle, fromPinned: Handle, bytes: number, from?: number): void {
    this.calls.push(`up ${bytes}`);
    super.copyToDevice(to, fromPinned, bytes, from);
  }

  override copyFromDevice(toPinned: Handle, from: Handle, bytes: number, to?: number): void {
    this.calls.push(`down ${bytes}`);
    super.copyFromDevice(toPinned, from, bytes, to);
  }

  override launchGraph(graph: Handle): void {
    this.calls.push("graph");
    super.launchGraph(graph);
  }
}

/** What ES2024 adds. */
interface ResizableBuffer extends ArrayBuffer {
  resize(bytes: number): void;
}

let driver: ListedDriver;
let backend: CudaBackend;
beforeEach(() => {
  driver = new ListedDriver();
  backend = new CudaBackend(driver);
});

function numbers(length: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length }, (_, i) => i + 1);
}

/** A plan whose outputs are its inputs. */
function echo(lengths: Readonly<Record<string, number>>): Promise<Plan> {
  const program = createProgram();
  for (const [name, length] of Object.entries(lengths)) program.output(name, program.input(name, "f32", [length]));
  return backend.compile(program);
}

const times = (count: number, call: string): readonly string[] => new Array<string>(count).fill(call);

describe("tensors", () => {
  test("are read straight into the caller's array, in pieces of which the device copies several ahead", async () => {
    const x = numbers(10.5 * (mebibyte / 4));
    using tensor = backend.upload({ dtype: "f32", shape: [x.length] }, x);
    await tensor.ready();
    const [piece, half] = [mebibyte, mebibyte / 2];
    const upload = driver.calls.splice(0);
    expect(upload.filter((call) => call.startsWith("up"))).toEqual([...times(10, `up ${piece}`), `up ${half}`]);
    // Each piece goes to the device before the next one is copied.
    expect(upload.slice(0, 4)).toEqual([`write ${piece}`, `up ${piece}`, `write ${piece}`, `up ${piece}`]);
    const { readbacks } = backend.counters;
    const target = new Float32Array(x.length);
    await tensor.readInto(target);
    expect(backend.counters.readbacks).toBe(readbacks + 1);
    expect(target).toEqual(x);
    expect(new Set(driver.targets)).toEqual(new Set([target.buffer]));
    const [down, read] = [`down ${piece}`, `read ${piece}`];
    const last = [read, `down ${half}`, ...times(7, read), `read ${half}`];
    expect(driver.calls).toEqual([...times(8, down), read, down, read, down, ...last]);
    // A ring of the upload, and one of the readback.
    expect(driver.mostPinnedBytes).toBe(16 * mebibyte);
  });

  test("in arrays of shared memory and within larger buffers", async () => {
    const x = numbers(100_000);
    using tensor = backend.upload({ dtype: "f32", shape: [x.length] }, x);
    const shared = new Float32Array(new SharedArrayBuffer(4 * x.length));
    await tensor.readInto(shared);
    expect(shared.every((value, i) => value === x[i])).toBe(true);
    const inside = new Float32Array(x.length + 2);
    await tensor.readInto(inside.subarray(1, -1));
    expect([inside[0], inside[1], inside[x.length], inside.at(-1)]).toEqual([0, 1, x.length, 0]);
  });

  test.each([
    ["transferred", (buffer: ResizableBuffer) => void structuredClone(buffer, { transfer: [buffer] }), "ArgumentError"],
    ["resized", (buffer: ResizableBuffer) => buffer.resize(8), "ShapeError"],
  ])("an array that is %s meanwhile is not written to", async (_, change, name) => {
    const x = numbers(2 * mebibyte);
    using tensor = backend.upload({ dtype: "f32", shape: [x.length] }, x);
    await tensor.ready();
    const plan = await echo({ x: x.length });
    using output = plan.run({ x }).x!;
    for (const source of [tensor, output]) {
      const buffer: ResizableBuffer = Reflect.construct(ArrayBuffer, [4 * x.length, { maxByteLength: 4 * x.length }]);
      const read = source.readInto(new Float32Array(buffer));
      change(buffer);
      await expect(read).rejects.toMatchObject({ name });
    }
    expect(await tensor.data()).toEqual(x);
    expect(await output.data()).toEqual(x);
    plan.dispose();
  });
});

describe("large inputs and results of runs", () => {
  const length = mebibyte / 2;

  test("the device copies an input while the host copies the next one, and a result is copied once", async () => {
    const plan = await echo({ x: length, z: length });
    const [x, z] = [numbers(length), numbers(length).reverse()];
    const before = { ...backend.counters };
    driver.calls.length = 0;
    const outputs = plan.run({ x, z });
    const [write, up] = [`write ${mebibyte}`, `up ${mebibyte}`];
    expect(driver.calls).toEqual([write, up, write, up, write, up, write, up, "graph", `down ${4 * mebibyte}`]);
    driver.calls.length = 0;
    const target = new Float32Array(length);
    await outputs.x!.readInto(target);
    expect(target).toEqual(x);
    expect(await outputs.z!.data()).toEqual(z);
    expect(driver.calls).toEqual(times(2, `read ${2 * mebibyte}`));
    expect(driver.targets[0]).toBe(target.buffer);
    for (const tensor of Object.values(outputs)) tensor.dispose();
    const { uploads, submits, readbacks } = backend.counters;
    expect([uploads - before.uploads, submits - before.submits, readbacks - before.readbacks]).toEqual([1, 1, 1]);
    plan.dispose();
  });

  test("results keep their memory until they are freed, and runs meanwhile have memory of their own", async () => {
    const plan = await echo({ x: length });
    const runs = [1, 2, 3].map((by) => plan.run({ x: numbers(length).map((value) => by * value) }).x!);
    const ends = await Promise.all(runs.map(async (tensor) => (await tensor.data()).at(-1)));
    expect(ends).toEqual([1, 2, 3].map((by) => by * length));
    expect((await runs[0]!.data()).at(-1)).toBe(length);
    for (const tensor of runs) tensor.dispose();
    plan.dispose();
    await backend.idle();
    expect([driver.pinnedBytes, backend.memory().other]).toEqual([0, 0]);
  });

  test("results that no caller frees hold 64 MiB of page-locked memory at most", async () => {
    const plan = await echo({ x: 4 * length });
    const x = numbers(4 * length);
    const tensors = [];
    for (let i = 0; i < 12; i++) {
      x[0] = i;
      tensors.push(plan.run({ x }).x!);
      await tensors.at(-1)!.ready();
    }
    // Eight results of 8 MiB, the run's own upload, and one block that is under way.
    expect(driver.mostPinnedBytes).toBeLessThanOrEqual((64 + 8 + 8) * mebibyte);
    expect(await Promise.all(tensors.map(async (tensor) => (await tensor.data())[0]))).toEqual(tensors.map((_, i) => i));
    plan.dispose();
    await backend.dispose();
    expect(driver.pinnedBytes).toBe(0);
    // Copied before the device was closed.
    expect((await tensors.at(-1)!.data())[0]).toBe(11);
  });

  test("an aborted run and a profile give the memory of their results back", async () => {
    const plan = await echo({ x: length });
    const abort = new AbortController();
    const { x } = plan.run({ x: numbers(length) }, { signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect(x!.data()).rejects.toThrow("enough");
    x!.dispose();
    await plan.profile({ x: numbers(length) });
    plan.dispose();
    await backend.idle();
    expect(driver.pinnedBytes).toBe(0);
  });

  test("within the call", async () => {
    const program = createProgram();
    const x = program.input("x", "f32", [3 * mebibyte]);
    program.output("host", x);
    program.output("kept", x, { to: "device" });
    const plan = backend.compileSync(program);
    const data: TypedArray = numbers(3 * mebibyte);
    expect(plan.runSync!({ x: data })).toEqual({ host: data, kept: data });
    plan.dispose();
    await backend.idle();
    expect(driver.pinnedBytes).toBe(0);
  });
});
