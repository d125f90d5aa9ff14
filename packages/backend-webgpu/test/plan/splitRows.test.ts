import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { type Backend, createProgram, type DType, OutOfMemoryError } from "@centella/core";
import { explain } from "@centella/core/backend";
import { afterAll, expect, test } from "vitest";
import { deviceBytes } from "../../src/device/layout.ts";
import { webgpu } from "../../src/index.ts";
import { describeOpened } from "../support/describeOpened.ts";
import { type Limits, limited } from "../support/limitedGpu.ts";
import { openBackend } from "../support/openBackend.ts";

const rows = 1100;
const k = 256;
/** Bytes of a binding that holds 300 rows of weights, or up to 300 where as many end at a multiple of 256 bytes. */
const bindingBytes = (dtype: DType): number => deviceBytes({ dtype, shape: [300, k] });

await describeOpened("weights over the limit of a binding", openBackend(), ({ backend: unlimited, gpu }) => {
  const opened: Backend[] = [unlimited];
  const open = async (limits: Limits): Promise<Backend> => {
    const backend = await webgpu({ gpu: limited(gpu, limits) }).open();
    opened.push(backend);
    return backend;
  };
  afterAll(async () => {
    for (const backend of opened) {
      // Only `unlimited` checks for writes outside of outputs when it is disposed of.
      await backend.idle();
      await backend.dispose();
    }
  });

  for (const dtype of ["f32", "f16", "q8_0", "tq2_0"] as const) {
    test(`of ${dtype} are read by rows, as products and as tables, like whole ones`, async () => {
      const weights = contentsOf({ dtype, shape: [rows, k] }, 7);
      const program = lookups(dtype);
      const inputs = { x: uniform(3, 3 * k), ids: Int32Array.of(0, 255, 256, 700, rows - 1, rows, -1) };
      const outputsOn = async (backend: Backend) => {
        const plan = await backend.compile(program);
        await plan.load("w", sourceOf(weights.stored));
        const { y, r } = plan.run(inputs);
        // Adding rows of zeros makes a -0 of a table 0.
        const outputs = { y: await y!.data(), r: (await r!.data()).map((value) => value + 0), saved: await plan.save("w") };
        plan.dispose();
        return outputs;
      };
      const split = await outputsOn(await open({ maxStorageBufferBindingSize: bindingBytes(dtype) }));
      const expected = await outputsOn(unlimited);
      expect(split).toEqual(expected);
      expect(split.r.subarray(0, k)).not.toEqual(new Float32Array(k));
      expect(split.r.subarray(5 * k)).toEqual(new Float32Array(2 * k));
    });
  }

  test("are one product per part of the rows, whose columns are joined", async () => {
    const backend = await open({ maxStorageBufferBindingSize: bindingBytes("f32") });
    const text = explain(lookups("f32"), backend);
    expect(text.match(/= matmul/g)).toHaveLength(4);
    expect(text.match(/= embedding/g)).toHaveLength(4);
    expect(text.match(/= concat/g)).toHaveLength(1);
    expect(explain(lookups("f32"), unlimited).match(/= matmul/g)).toHaveLength(1);
  });

  test.each(["f32", "q8_0"] as const)("of %s are read some experts at a time", async (dtype) => {
    const [experts, n] = [7, 64];
    const spec = { dtype, shape: [experts, n, k] };
    const program = createProgram();
    const w = program.persistent("w", spec);
    program.output("y", program.moeMatmul(program.input("x", "f32", [3, k]), w, program.input("ids", "i32", [3, 2])));
    const limit = 3 * deviceBytes({ dtype, shape: [n, k] });
    const backend = await open({ maxStorageBufferBindingSize: limit });
    const inputs = { x: uniform(3, 3 * k), ids: Int32Array.of(0, 6, 2, 3, 5, 5) };
    const [split, whole] = await Promise.all(
      [backend, unlimited].map(async (each) => {
        const plan = await each.compile(program);
        await plan.load("w", sourceOf(contentsOf(spec, 7).stored));
        const y = await plan.run(inputs).y!.data();
        plan.dispose();
        return y;
      }),
    );
    // Adding products of other parts, which are zeros, makes a -0 0.
    expect(split!.map((value) => value + 0)).toEqual(whole!.map((value) => value + 0));
    expect(split!.some((value) => value !== 0)).toBe(true);
    expect(explain(program, backend).match(/= moeMatmul/g)).toHaveLength(3);
  });

  test("are refused by name where not even some rows fit, where no buffer holds them, and where another op reads them", async () => {
    const [none, small, some] = [
      await open({ maxStorageBufferBindingSize: 2 ** 9 }),
      await open({ maxStorageBufferBindingSize: 2 ** 19, maxBufferSize: 2 ** 20 }),
      await open({ maxStorageBufferBindingSize: bindingBytes("f32") }),
    ];
    const table = createProgram();
    table.output("r", table.embedding(table.persistent("w", { dtype: "f32", shape: [rows, k] }), table.input("ids", "i32", [7])));
    for (const backend of [none, small]) {
      const refused = expect(backend.compile(backend === none ? table : lookups("f32"))).rejects;
      await refused.toThrow(OutOfMemoryError);
      await refused.toThrow(/got 1126400 for w \(f32 \[1100, 256\]\); split it, or use/);
    }
    const program = createProgram();
    const w = program.persistent("w", { dtype: "f32", shape: [rows, k] });
    program.output("y", program.sum(w, { axis: 1 }));
    const refused = "expected at most 307200 bytes for one tensor on this device, got 1126400 for w (f32 [1100, 256])";
    await expect(some.compile(program)).rejects.toThrow(refused);
    expect(some.memory().persistents).toBe(0);
  });

  test("states are refused with the number of rows that fit, which is then accepted", async () => {
    const backend = await open({ maxStorageBufferBindingSize: 300 * 4 * 2 * 64 * 2 });
    const keep = (slots: number) => {
      const program = createProgram();
      const cache = program.persistent("keys", { dtype: "f16", shape: [slots, 4, 128] }, { init: "zeros" });
      const [k, v] = ["k", "v"].map((name) => program.input(name, "f32", [1, 4, 64]));
      program.output("cache", program.kvWrite(cache, k!, v!, program.input("slots", "i32", [1])));
      return backend.compile(program);
    };
    const expected =
      "expected at most 307200 bytes for one tensor on this device, got 1126400 for keys (f16 [1100, 4, 128]); give it at most 300 rows";
    await expect(keep(1100)).rejects.toThrow(expected);
    await expect(keep(1100)).rejects.toThrow('a shorter context, fewer sequences or cacheType "q8_0"), or use another backend');
    (await keep(300)).dispose();
  });
});

/** A product with weights, and rows of the same weights. */
function lookups(dtype: DType) {
  const program = createProgram();
  const w = program.persistent("w", { dtype, shape: [rows, k] });
  program.output("y", program.matmul(program.input("x", "f32", [3, k]), w, { transposeB: true }));
  program.output("r", program.embedding(w, program.input("ids", "i32", [7])));
  return program;
}
