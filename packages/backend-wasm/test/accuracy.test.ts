import { readFileSync } from "node:fs";
import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { type Backend, createProgram } from "@centella/core";
import { type BlockType, dequantize, isQuantizable, quantize } from "@centella/quant";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { wasm } from "../src/index.ts";
import { targets } from "./shared.ts";

const [m, n, k] = [8, 32, 4096];

/** Rows of the README's table: type, error with activations rounded as in ggml, error with exact ones. */
const table = [
  ...readFileSync(`${import.meta.dirname}/../README.md`, "utf8").matchAll(/^\| (\w+) +\| +([\d.e-]+) \| +([\d.e-]+) \|$/gm),
].map(([, dtype, rounded, exact]) => ({ dtype: dtype as BlockType, rounded: Number(rounded), exact: Number(exact) }));

/** Approximately normally distributed. */
function normal(seed: number, count: number): Float32Array {
  const parts = [0, 1, 2, 3].map((part) => uniform(4 * seed + part, count));
  return Float32Array.from({ length: count }, (_, i) => parts.reduce((sum, part) => sum + part[i]!, 0));
}

function weights(dtype: BlockType): Uint8Array {
  if (isQuantizable(dtype)) return quantize(dtype, normal(1, n * k));
  const bytes = new Uint8Array(contentsOf({ dtype, shape: [n, k] }, 1).stored.buffer);
  // Exponents of weights, not the full range of f32.
  if (dtype === "mxfp4") for (let at = 0; at < bytes.length; at += 17) bytes[at] = 120 + (bytes[at]! & 3);
  return bytes;
}

describe.each(targets)("the README's table of errors against f64, relaxed: $relaxed", ({ relaxed }) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await wasm({ relaxed, threads: 1 }).open();
  });
  afterAll(() => backend.dispose());

  test("names the types with kernels and some without", () => expect(table.length).toBeGreaterThanOrEqual(14));

  test.each(table)("$dtype", async ({ dtype, ...wanted }) => {
    const bytes = weights(dtype);
    const w = new Float32Array(n * k);
    dequantize(dtype, bytes, w);
    const x = normal(2, m * k);
    for (const activations of ["ggml", "f32"] as const) {
      const program = createProgram();
      const b = program.persistent("w", { dtype, shape: [n, k] });
      program.output("y", program.matmul(program.input("x", "f32", [m, k]), b, { transposeB: true, activations }));
      const plan = await backend.compile(program);
      await plan.load("w", sourceOf(bytes));
      const y = plan.runSync!({ x }).y as Float32Array;
      plan.dispose();
      let [error, size] = [0, 0];
      for (let i = 0; i < m; i++) {
        for (let j = 0; j < n; j++) {
          let exact = 0;
          for (let p = 0; p < k; p++) exact += x[i * k + p]! * w[j * k + p]!;
          error += (y[i * n + j]! - exact) ** 2;
          size += exact ** 2;
        }
      }
      const got = Math.sqrt(error / size);
      const want = activations === "ggml" ? wanted.rounded : wanted.exact;
      expect(got, `${dtype} ${activations}`).toBeLessThan(1.5 * want);
      expect(got, `${dtype} ${activations}`).toBeGreaterThan(want / 1.5);
    }
  });
});
