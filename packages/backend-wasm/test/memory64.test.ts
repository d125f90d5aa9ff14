import { conformanceSample, contentsOf, runConformance, sourceOf, uniform } from "@centella/conformance";
import { type CustomOp, createProgram, OutOfMemoryError, type Program } from "@centella/core";
import { isWholeGrid } from "@centella/test-devices";
import { afterEach, describe, expect, test } from "vitest";
import { openBackend, type WasmBackend } from "../src/backend.ts";
import { detect } from "../src/detect.ts";
import { f32, i32, ModuleBuilder, Widening } from "../src/emit/index.ts";
import { type WasmOptions, wasm } from "../src/index.ts";
import { createMemory } from "../src/memory/heap.ts";
import { checkedOptions } from "../src/options.ts";
import type { WasmPlan } from "../src/plan/plan.ts";

const GiB = 2 ** 30;
const features = detect();

let backend: WasmBackend | undefined;
afterEach(async () => {
  await backend?.dispose();
  backend = undefined;
});

async function open(options: WasmOptions): Promise<WasmBackend> {
  backend = (await wasm(options).open()) as WasmBackend;
  return backend;
}

describe.skipIf(!features.memory64)("memory with 64-bit addresses (Node from 24)", () => {
  test.each([
    [true, 2],
    [false, 1],
  ])("conformance with every tensor above 4 GiB, relaxed: %s, threads: %s", async (relaxed, threads) => {
    const { heap } = (await open({ memory64: true, relaxed, threads, checkWrites: true })).instance;
    // Untouched pages use no memory.
    for (let i = 0; i < 2; i++) heap.alloc(2.1 * GiB, "other");
    // The kernels are those of 32-bit memory, which run every test.
    const sample = conformanceSample("large");
    const filter = (id: string): boolean => isWholeGrid || sample.has(id);
    const failures: string[] = [];
    let passed = 0;
    for await (const { id, status, message } of runConformance(backend!, { filter })) {
      if (status === "failed") failures.push(`${id}: ${message}`);
      else if (status === "passed") passed++;
    }
    expect(failures).toEqual([]);
    expect(passed).toBeGreaterThan(700);
    expect(heap.memory.buffer.byteLength).toBeGreaterThan(4 * GiB);
  });

  /**
   * Layers that each write rows to a cache of 1 GiB, or of a few slots, and read them back; then a product with block
   * weights.
   */
  async function attend(layers: number, slots: number): Promise<{ readonly plan: WasmPlan; readonly y: Float32Array }> {
    const [tokens, heads, d, blockSize] = [3, 8, 128, 64];
    const program = createProgram();
    const slotsInput = program.input("slots", "i32", [tokens]);
    const [positions, seqOf] = [program.input("positions", "i32", [tokens]), program.input("seqOf", "i32", [tokens])];
    const [blockTable, seqLens] = [program.input("blockTable", "i32", [1, 1]), program.input("seqLens", "i32", [1])];
    let x = program.input("x", "f32", [tokens, heads, d]);
    for (let layer = 0; layer < layers; layer++) {
      const cache = program.persistent(`cache${layer}`, { dtype: "f32", shape: [slots, heads, 2 * d] }, { init: "zeros" });
      const written = program.kvWrite(cache, x, x, slotsInput);
      x = program.add(x, program.attention(x, written, positions, seqOf, blockTable, seqLens, { scale: 0.1, blockSize }));
    }
    const spec = { dtype: "q4_0", shape: [64, heads * d] } as const;
    const rows = program.reshape(x, { shape: [tokens, heads * d] });
    program.output("y", program.matmul(rows, program.persistent("w", spec), { transposeB: true, activations: "ggml" }));
    const plan = (await backend!.compile(program)) as WasmPlan;
    await plan.load("w", sourceOf(contentsOf(spec, 1).stored));
    const last = slots / blockSize - 1;
    const { y } = plan.run({
      x: uniform(2, tokens * heads * d),
      slots: Int32Array.from({ length: tokens }, (_, i) => last * blockSize + i),
      positions: Int32Array.from({ length: tokens }, (_, i) => i),
      seqOf: new Int32Array(tokens),
      blockTable: Int32Array.of(last),
      seqLens: Int32Array.of(tokens),
    });
    return { plan, y: (await y!.data()) as Float32Array };
  }

  test("a model above 3.5 GiB has them by default, and computes the same results", async () => {
    await open({ threads: 2 });
    const small = await attend(4, 128);
    expect(small.plan.instance.heap.memory64).toBe(false);
    const medium = await attend(3, 2 ** 17);
    expect(medium.plan.instance.heap.memory64).toBe(false);
    medium.plan.dispose();
    const large = await attend(4, 2 ** 17);
    expect(large.plan.instance.heap.memory64).toBe(true);
    expect(backend!.memory().persistents).toBeGreaterThan(4 * GiB);
    expect(large.plan.persistents.get("w")!.address).toBeGreaterThan(4 * GiB);
    expect(large.y).toEqual(small.y);
    large.plan.dispose();
    await backend!.idle();
    expect(backend!.memory().persistents).toBeLessThan(GiB);
  });

  test("plans above 16 GiB and tensors above 4 GiB are refused with numbers", async () => {
    await open({});
    const error = await attend(17, 2 ** 17).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OutOfMemoryError);
    expect((error as Error).message).toMatchInlineSnapshot(
      `"wasm: expected 18253647872 bytes of free memory, got 17179590400; the limit is 17179869184 bytes (maxMemoryMiB, at most 16384); use a smaller model, a shorter context or another backend"`,
    );
    await expect(attend(1, 2 ** 20)).rejects.toThrowErrorMatchingInlineSnapshot(
      `[OutOfMemoryError: wasm: expected 8589934592 bytes of free memory, got 4294901760; a tensor has at most this many bytes; split it]`,
    );
  });

  test("custom ops have 32-bit addresses", async () => {
    const op: CustomOp = {
      name: "own",
      inputs: ["x"],
      infer: ([x]) => x!,
      reference: () => undefined,
      wasm: { module: () => new Uint8Array() },
    };
    await open({ memory64: true });
    const program = createProgram();
    program.output("y", program.custom(op, [program.input("x", "f32", [4])]));
    await expect(backend!.compile(program)).rejects.toThrow(/take 32-bit addresses/);
  });
});

describe("an engine without 64-bit addresses", () => {
  const without = { ...features, memory64: false };
  const program = (): Program => {
    const graph = createProgram();
    const caches = Array.from({ length: 5 }, (_, i) =>
      graph.persistent(`cache${i}`, { dtype: "f32", shape: [2 ** 18, 1024] }, { init: "zeros" }),
    );
    const ids = graph.input("ids", "i32", [1]);
    caches.forEach((cache, i) => void graph.output(`y${i}`, graph.embedding(cache, ids)));
    return graph;
  };

  test.each([
    ["the engine has none", {}, without],
    ["the option says so", { memory64: false }, features],
    ["the memory is bounded", { maxMemoryMiB: 2048 }, features],
  ] as const)("a large model is refused with numbers and advice: %s", async (_name, options, engine) => {
    backend = await openBackend(checkedOptions(options), engine);
    const before = backend.memory();
    const error = await backend.compile(program()).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OutOfMemoryError);
    expect(error).toMatchObject({ requested: 5 * GiB });
    expect((error as Error).message).toMatchSnapshot();
    await backend.idle();
    expect(backend.memory()).toEqual(before);
  });

  test("asking for them is an error", async () => {
    await expect(openBackend(checkedOptions({ memory64: true }), without)).rejects.toThrowErrorMatchingInlineSnapshot(
      `[UnsupportedError: wasm: unsupported: this JavaScript engine has no WebAssembly memory with 64-bit addresses (Node 24, Chrome 133 and Firefox 134 have); use memory64: "auto" or false]`,
    );
  });
});

describe.skipIf(!features.memory64)("code for 64-bit addresses", () => {
  /** Compiles one function and calls it with its 64-bit parameters. */
  function compile(build: (module: ModuleBuilder) => void): {
    readonly call: (...args: (number | bigint)[]) => unknown;
    readonly params: readonly string[];
    readonly memory: WebAssembly.Memory;
  } {
    const module = new ModuleBuilder({ memory64: Widening });
    build(module);
    const memory = createMemory({ initial: 65_537, maximum: 65_538, shared: false, memory64: true });
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env: { memory } });
    const { name, params } = module.functions.at(-1)!;
    return { call: exports[name] as (...args: (number | bigint)[]) => unknown, params, memory };
  }
  const high = 2 ** 32;

  test("only values that flow into addresses are wide", () => {
    const { call, params, memory } = compile((module) =>
      module.function("fill", { at: "i32", stride: "i32", count: "i32", value: "i32" }, (f, { at, stride, count, value }) => {
        f.while(count, () => {
          f.store(i32.add(at, i32.mul(stride, i32.sub(count, 1))), value);
          f.advance(count, -1);
        });
      }),
    );
    expect(params).toEqual(["i64", "i64", "i64", "i32"]);
    call(BigInt(high), 8n, 3n, -7);
    expect([...new Int32Array(memory.buffer, high, 6)]).toEqual([-7, 0, -7, 0, -7, 0]);
  });

  test("an address with 32 low zeros is not null; negative steps and loaded indices go backwards", () => {
    const { call, memory } = compile((module) =>
      module.value("sum", { first: "i32", index: "i32", none: "i32" }, "f32", (f, { first, index, none }) => {
        const sum = f.let(f32.const(0));
        const at = f.let(i32.add(first, i32.shl(i32.load(index), 2)));
        f.if(first, () => f.set(sum, f32.load(at)));
        f.if(none, () => f.set(sum, f32.load(none)));
        f.set(at, i32.select(i32.eqz(none), i32.sub(at, 4), at));
        return f32.add(sum, f32.load(at));
      }),
    );
    new Float32Array(memory.buffer, high - 16, 4).set([1, 2, 4, 8]);
    new Int32Array(memory.buffer, 64, 1)[0] = -1;
    expect(call(BigInt(high), 64n, 0n)).toBe(12);
  });

  test("addresses are stored, compared, copied and returned in 64 bits", () => {
    const { call, memory } = compile((module) => {
      const next = module.value("next", { at: "i32" }, "i32", (f, { at }) => {
        f.store(at, f32.const(3));
        return i32.add(at, 4);
      });
      module.value("turn", { from: "i32", end: "i32", to: "i32" }, "i32", (f, { from, end, to }) => {
        const count = f.local("i32");
        f.storeAddress(to, from, 8);
        const at = f.let(i32.loadAddress(to, 8));
        f.while(i32.ltU(at, end), () => {
          f.set(at, f.invoke(next, { at }));
          f.advance(count, 1);
        });
        f.memoryCopy(to, from, i32.sub(end, from));
        f.memoryFill(from, 0, 4);
        return count;
      });
    });
    expect(call(BigInt(high - 8), BigInt(high + 8), 64n)).toBe(4);
    expect([...new Float32Array(memory.buffer, 64, 5)]).toEqual([3, 3, 3, 3, 0]);
    expect([...new Float32Array(memory.buffer, high - 8, 5)]).toEqual([0, 3, 3, 3, 0]);
  });
});
