import { readFileSync } from "node:fs";
import { type Backend, createProgram, type Plan, reference } from "@centella/core";
import { sourceOf, uniform } from "@centella/core/testing";
import { blockLayout } from "@centella/quant";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { blockFormats, type FormatName } from "../src/formats/index.ts";
import { wasm } from "../src/index.ts";
import { sharedPath, targets } from "./shared.ts";

/** Blocks of real weights, and what ggml's C code makes of them. */
const realBlocks = sharedPath("data/dequant");
const formats = Object.keys(blockFormats) as FormatName[];

describe.each(targets)("block formats, relaxed: $relaxed", ({ relaxed }) => {
  let backend: Backend;
  let scalar: Backend;
  beforeAll(async () => {
    [backend, scalar] = await Promise.all([wasm({ relaxed }).open(), reference().open()]);
  });
  afterAll(() => Promise.all([backend.dispose(), scalar.dispose()]));

  async function product(
    on: Backend,
    dtype: FormatName,
    n: number,
    k: number,
    activations: "f32" | "ggml",
    bytes: Uint8Array,
  ): Promise<Plan> {
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("T", 9), k]);
    const w = program.persistent("w", { dtype, shape: [n, k] });
    program.output("y", program.matmul(x, w, { transposeB: true, activations }));
    const plan = await on.compile(program);
    await plan.load("w", sourceOf(bytes));
    return plan;
  }

  /** Compares with the scalar reference; errors are relative to the sum of magnitudes, which rounding errors scale with. */
  async function compare(dtype: FormatName, n: number, k: number, bytes: Uint8Array, x: Float32Array, limit: number): Promise<void> {
    for (const activations of ["f32", "ggml"] as const) {
      const plans = await Promise.all([backend, scalar].map((on) => product(on, dtype, n, k, activations, bytes)));
      for (const tokens of [1, 9]) {
        const [got, want] = plans.map((plan) => plan.runSync!({ x: x.slice(0, tokens * k) }).y as Float32Array);
        const size = Math.sqrt(want!.reduce((sum, value) => sum + value * value, 0) / want!.length);
        got!.forEach((value, i) => {
          expect(Math.abs(value - want![i]!), `${dtype} ${activations} T=${tokens} at ${i}: ${value} for ${want![i]}`).toBeLessThanOrEqual(
            limit * size,
          );
        });
      }
      for (const plan of plans) plan.dispose();
    }
  }

  const realTest = realBlocks === undefined ? test.skip : test;
  const reason = realBlocks === undefined ? " (no data/dequant in CENTELLA_SHARED)" : "";
  realTest.each(formats)(`%s: weights of a model, decoded as ggml does and multiplied${reason}`, async (dtype) => {
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
  });

  test.each(formats)("%s: extreme blocks", async (dtype) => {
    const [n, k] = [8, 512];
    const { blockElements, blockBytes } = blockLayout(dtype);
    const scaleAt = dtype === "q6_K" ? 208 : 0;
    const fills = [0x00, 0xff, 0x80, 0x7f, 0x0f, 0xf0, 0x55, 0xaa];
    const bytes = new Uint8Array((n * k * blockBytes) / blockElements);
    for (let row = 0; row < n; row++) {
      const rowBytes = (k / blockElements) * blockBytes;
      bytes.fill(fills[row]!, row * rowBytes, (row + 1) * rowBytes);
      for (let at = row * rowBytes; at < (row + 1) * rowBytes; at += blockBytes) {
        // The scales 0.5 and -0.25: bytes of the fill could make infinities.
        bytes.set(row % 2 === 0 ? [0x00, 0x38] : [0x00, 0xb4], at + scaleAt);
        if (dtype === "q4_K") bytes.set([0x00, 0x34], at + 2);
      }
    }
    const x = uniform(4, 9 * k);
    // Rows of zeros, of one value, with one outlier, with two largest values of different sign, in both orders.
    x.fill(0, 0, k);
    x.fill(-3, k, 2 * k);
    x[2 * k + 7] = 1e4;
    x[3 * k + 9] = 5;
    x[3 * k + 100] = -5;
    x[4 * k + 9] = -5;
    x[4 * k + 100] = 5;
    await compare(dtype, n, k, bytes, x, 2e-5);
  });
});
