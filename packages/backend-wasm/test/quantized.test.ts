import { readFileSync } from "node:fs";
import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { type Backend, createProgram, type DType, type Plan, reference } from "@centella/core";
import { type BlockType, blockLayout } from "@centella/quant";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { groupRows } from "../src/formats/block.ts";
import { type FormatName, formatNameOf, formatNames, formatOf } from "../src/formats/index.ts";
import { rowBytesOf } from "../src/formats/interleave.ts";
import { wasm } from "../src/index.ts";
import { emitModule } from "../src/linking/baseModule.ts";
import { loadParts } from "../src/linking/lazyParts.ts";
import { exactProduct, exactScratch } from "../src/matmul/exactProduct.ts";
import { roundedProduct, roundedScratch } from "../src/matmul/roundedProduct.ts";
import { Heap } from "../src/memory/heap.ts";
import { callsOf } from "../src/memory/wasmMemory.ts";
import type { ByteDots } from "../src/target.ts";
import { sharedPath, targets } from "./shared.ts";

await loadParts();

/** Blocks of real weights, and their values from ggml's C code. */
const realBlocks = sharedPath("data/dequant");
const blockTypes = [
  ...formatNames.filter((name) => name !== "scaled8"),
  ...(["q1_0", "q2_0", "iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "tq1_0", "tq2_0", "nvfp4"] as const),
] as const satisfies readonly BlockType[];

describe.each(targets)("block formats, relaxed: $relaxed", ({ relaxed }) => {
  let backend: Backend;
  let scalar: Backend;
  beforeAll(async () => {
    [backend, scalar] = await Promise.all([wasm({ relaxed }).open(), reference().open()]);
  });
  afterAll(() => Promise.all([backend.dispose(), scalar.dispose()]));

  async function product(on: Backend, dtype: DType, n: number, k: number, activations: "f32" | "ggml", bytes: Uint8Array): Promise<Plan> {
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("T", 9), k]);
    const w = program.persistent("w", { dtype, shape: [n, k] });
    program.output("y", program.matmul(x, w, { transposeB: true, activations }));
    const plan = await on.compile(program);
    await plan.load("w", sourceOf(bytes));
    return plan;
  }

  /**
   * Compares with the scalar reference. Errors are relative to the sum of magnitudes, which rounding errors scale with.
   */
  async function compare(
    dtype: DType,
    n: number,
    k: number,
    bytes: Uint8Array,
    x: Float32Array,
    limit: number,
    counts = [1, 9],
  ): Promise<void> {
    for (const activations of ["f32", "ggml"] as const) {
      const plans = await Promise.all([backend, scalar].map((on) => product(on, dtype, n, k, activations, bytes)));
      for (const tokens of counts) {
        const [got, want] = plans.map((plan) => plan.runSync!({ x: x.slice(0, tokens * k) }).y as Float32Array);
        const size = Math.sqrt(want!.reduce((sum, value) => sum + value * value, 0) / want!.length);
        const worst = got!.reduce((largest, value, i) => Math.max(largest, Math.abs(value - want![i]!)), 0);
        expect(worst, `${dtype} ${activations} T=${tokens}`).toBeLessThanOrEqual(limit * size);
      }
      for (const plan of plans) plan.dispose();
    }
  }

  const realTypes = blockTypes.filter((dtype) => dtype !== "nvfp4");
  const reason = realBlocks === undefined ? " (no data/dequant in CENTELLA_SHARED)" : "";
  test.skipIf(realBlocks === undefined).each(realTypes)(
    `%s: weights of a model, decoded as ggml does and multiplied${reason}`,
    async (dtype) => {
      const bytes = new Uint8Array(readFileSync(`${realBlocks}/${dtype.toUpperCase()}.blocks`));
      const wanted = new Uint8Array(readFileSync(`${realBlocks}/${dtype.toUpperCase()}.f32`));
      const { blockElements, blockBytes } = blockLayout(dtype);
      const count = (bytes.length / blockBytes) * blockElements;
      const [n, k] = [count / 512, 512];
      const program = createProgram();
      const table = program.persistent("table", { dtype, shape: [n, k] });
      program.output("rows", program.embedding(table, program.input("ids", "i32", [n])));
      const plan = await backend.compile(program);
      await plan.load("table", sourceOf(bytes));
      const { rows } = plan.runSync!({ ids: Int32Array.from({ length: n }, (_, i) => i) });
      expect(new Uint8Array(rows!.buffer)).toEqual(wanted);
      plan.dispose();
      await compare(dtype, n, k, bytes, uniform(3, 9 * k), 1e-5);
    },
  );

  test.each(blockTypes)("%s: random blocks, rows left over", (dtype) => {
    const shape = [29, 768];
    return compare(dtype, 29, 768, new Uint8Array(contentsOf({ dtype, shape }, 9).stored.buffer), uniform(5, 9 * 768), 1e-5);
  });

  /** Offsets of each format's f16 scales. */
  const scalesAt: Readonly<Partial<Record<BlockType, readonly number[]>>> = {
    q4_0: [0],
    q4_1: [0, 2],
    q5_0: [0],
    q5_1: [0, 2],
    q8_0: [0],
    q2_K: [80, 82],
    q3_K: [108],
    q4_K: [0, 2],
    q5_K: [0, 2],
    q6_K: [208],
    iq4_nl: [0],
    iq4_xs: [0],
  };
  test.each(Object.entries(scalesAt) as [BlockType, readonly number[]][])("%s: extreme blocks", async (dtype, scales) => {
    const [n, k] = [8, 512];
    const { blockElements, blockBytes } = blockLayout(dtype);
    const fills = [0x00, 0xff, 0x80, 0x7f, 0x0f, 0xf0, 0x55, 0xaa];
    const bytes = new Uint8Array((n * k * blockBytes) / blockElements);
    for (let row = 0; row < n; row++) {
      const rowBytes = (k / blockElements) * blockBytes;
      bytes.fill(fills[row]!, row * rowBytes, (row + 1) * rowBytes);
      for (let at = row * rowBytes; at < (row + 1) * rowBytes; at += blockBytes) {
        // Scales 0.5 and -0.25, and 0.25 for a block's second one: the fill bytes could be infinities.
        scales.forEach((scale, index) => {
          bytes.set(index > 0 ? [0x00, 0x34] : row % 2 === 0 ? [0x00, 0x38] : [0x00, 0xb4], at + scale);
        });
      }
    }
    const x = uniform(4, 9 * k);
    // Rows of zeros, of one value, with one outlier, and with two largest values of different sign in both orders.
    x.fill(0, 0, k);
    x.fill(-3, k, 2 * k);
    x[2 * k + 7] = 1e4;
    x[3 * k + 9] = 5;
    x[3 * k + 100] = -5;
    x[4 * k + 9] = -5;
    x[4 * k + 100] = 5;
    await compare(dtype, n, k, bytes, x, 2e-5);
    // A single token takes another path: the largest magnitude everywhere, and one outlier.
    for (const row of [1, 2]) await compare(dtype, n, k, bytes, x.slice(row * k, (row + 1) * k), 2e-5, [1]);
  });

  test("block rows that are an input, a constant or a batch are multiplied as weights are", async () => {
    const [dtype, n, k] = ["q5_1", 12, 64] as const;
    const { stored } = contentsOf({ dtype, shape: [2, n, k] }, 7);
    const bytes = new Uint8Array(stored.buffer);
    const half = bytes.length / 2;
    const x = uniform(8, 5 * k);
    const results = await Promise.all(
      [backend, scalar].map(async (on) => {
        const program = createProgram();
        const rows = program.input("x", "f32", [5, k]);
        const options = { transposeB: true, activations: "ggml" } as const;
        program.output("input", program.matmul(rows, program.input("b", dtype, [n, k]), options));
        program.output("constant", program.matmul(rows, program.constant(bytes.slice(0, half), dtype, [n, k]), options));
        program.output("batch", program.matmul(rows, program.persistent("w", { dtype, shape: [2, n, k] }), options));
        const plan = await on.compile(program);
        await plan.load("w", sourceOf(bytes));
        if (on === backend) expect(await plan.save("w")).toEqual(bytes);
        return plan.runSync!({ x, b: bytes.slice(0, half) }) as Record<string, Float32Array>;
      }),
    );
    const [got, want] = results as [Record<string, Float32Array>, Record<string, Float32Array>];
    expect(got.input).toEqual(got.constant);
    expect(got.batch!.slice(0, 5 * n)).toEqual(got.constant);
    got.batch!.forEach((value, i) => void expect(value).toBeCloseTo(want.batch![i]!, 4));
  });
});

describe("kinds of dot products", () => {
  const modules = new Map<ByteDots, { readonly module: WebAssembly.Module; readonly functions: readonly unknown[] }>();

  /** Multiplies with a module emitted for one kind of dot product. */
  function run(dots: ByteDots, name: FormatName, n: number, k: number, m: number, rows: Uint8Array, x: Float32Array): Float32Array[] {
    const target = { relaxed: dots !== "wide", dots };
    const memory = new WebAssembly.Memory({ initial: 64, maximum: 1000 });
    const heap = new Heap(memory, 1000);
    let emitted = modules.get(dots);
    if (emitted === undefined) {
      const { bytes, functions } = emitModule(target);
      emitted = { module: new WebAssembly.Module(bytes), functions };
      modules.set(dots, emitted);
    }
    const { module, functions } = emitted;
    const table = new WebAssembly.Table({ element: "anyfunc", initial: functions.length });
    const base = new WebAssembly.Global({ value: "i32", mutable: false }, 0);
    const { exports } = new WebAssembly.Instance(module, { env: { memory, table, base, thread: base } });
    const call = (fn: string) => exports[fn] as (...args: number[]) => number;
    const rowBytes = rowBytesOf(name, k);
    const [loaded, w] = [heap.alloc(rowBytes * n, "other"), heap.alloc(rowBytes * n, "other")];
    const [a, y] = [heap.alloc(4 * m * k, "other"), heap.alloc(4 * m * n, "other")];
    heap.u8.set(rows, loaded);
    call(`interleave.${name}`)(loaded, w, rowBytes, 0, n / groupRows);
    heap.f32.set(x, a / 4);
    const { rounding } = formatOf(name);
    const scratch = heap.alloc(Math.max(roundedScratch(name, rounding, target, 1)(m, n, k), exactScratch(target, 1)(m)), "other");
    const context = { exports: call, onDemand: call, target, threads: 1, maxThreads: 1 };
    return [roundedProduct(context, name, rounding), exactProduct(call, name, 1, 1)].map((multiply) => {
      for (const work of multiply({ a, b: w, y, m, n, k, scratch })) if (work !== undefined) for (const _ of callsOf(work));
      return heap.f32.slice(y / 4, y / 4 + m * n);
    });
  }

  const hasRelaxed = targets.length > 1;
  test.skipIf(!hasRelaxed).each(formatNames)(
    `%s: all kinds give the same sums${hasRelaxed ? "" : " (skipped: no relaxed SIMD here)"}`,
    (name) => {
      const [n, k] = [3 * groupRows, 512];
      const dtype = name === "scaled8" ? "q8_0" : name;
      const rows =
        name === "scaled8"
          ? Uint8Array.from({ length: rowBytesOf(name, k) * n }, (_, i) => (i % 40 < 8 ? [0, 0, 0x80, 0x3f][i % 4]! : (i * 37) & 255))
          : new Uint8Array(contentsOf({ dtype, shape: [n, k] }, 3).stored.buffer);
      for (const m of [1, 15]) {
        const x = uniform(2, m * k);
        const [pairs, quads, wide] = (["pairs", "quads", "wide"] as const).map((dots) => run(dots, name, n, k, m, rows, x));
        expect(pairs).toEqual(quads);
        // Only where the engine's instruction takes unsigned bytes.
        if (targets.at(-1)?.dots === "mixedQuads") expect(run("mixedQuads", name, n, k, m, rows, x)).toEqual(quads);
        // Without relaxed SIMD there is no fused multiply-add: same integers, different rounding.
        wide!.forEach((values, mode) => {
          const size = Math.sqrt(quads![mode]!.reduce((sum, value) => sum + value * value, 0) / values.length);
          values.forEach((value, i) => void expect(Math.abs(value - quads![mode]![i]!)).toBeLessThanOrEqual(1e-5 * size));
        });
      }
    },
  );
});

test("every block type has a format", () => {
  for (const dtype of blockTypes) expect(formatNameOf(dtype)).toBe((formatNames as readonly string[]).includes(dtype) ? dtype : "scaled8");
  expect(formatNameOf("f16")).toBeUndefined();
});
