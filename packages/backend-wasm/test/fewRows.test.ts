import { uniform } from "@centella/conformance";
import { createProgram } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { WasmBackend } from "../src/backend.ts";
import { wasm } from "../src/index.ts";

/**
 * Columns that are no whole tiles of six, and many for each thread; depths of several blocks, and one that is no
 * multiple of four.
 */
const columns = [1, 5, 6, 13, 1000];
const depths = [4, 512, 516, 1100, 1101];
/** In place, and packed. */
const rows = [2, 3, 4, 8, 15, 16, 17];

describe.each([
  [1, true],
  [2, true],
  [1, false],
] as const)("few rows times f32 weights [n, k], %i threads, relaxed: %s", (threads, relaxed) => {
  let backend: WasmBackend;
  beforeAll(async () => {
    backend = (await wasm({ threads, relaxed }).open()) as WasmBackend;
  });
  afterAll(() => backend.dispose());

  async function multiply(a: Float32Array, b: Float32Array, [m, n, k]: readonly [number, number, number]): Promise<Float32Array> {
    const program = createProgram();
    const [x, w] = [program.input("a", "f32", [m, k]), program.input("b", "f32", [n, k])];
    program.output("y", program.matmul(x, w, { transposeB: true }));
    const plan = await backend.compile(program);
    const y = (await plan.run({ a, b }).y!.data()) as Float32Array;
    plan.dispose();
    return y;
  }

  test.each(rows)("%i rows have the bits of each row alone, and the right sums", async (m) => {
    for (const n of columns) {
      for (const k of depths) {
        const [a, b] = [uniform(1, m * k), uniform(2, n * k)];
        const all = await multiply(a, b, [m, n, k]);
        for (let row = 0; row < m; row++) {
          const one = await multiply(a.slice(row * k, (row + 1) * k), b, [1, n, k]);
          expect(Buffer.compare(Buffer.from(all.buffer, 4 * row * n, 4 * n), Buffer.from(one.buffer)), `${n}, ${k}, row ${row}`).toBe(0);
        }
        for (let j = 0; j < n; j++) {
          let want = 0;
          for (let i = 0; i < k; i++) want += a[(m - 1) * k + i]! * b[j * k + i]!;
          // Sums of k products below 1, in blocks of 512.
          expect(Math.abs(all[(m - 1) * n + j]! - want)).toBeLessThan(2e-5 * Math.sqrt(k));
        }
      }
    }
  });
});
