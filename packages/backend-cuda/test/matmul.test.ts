import { uniform } from "@centella/conformance";
import { createProgram, type DType } from "@centella/core";
import { decode, encode, ops } from "@centella/core/backend";
import { referenceOf } from "@centella/core/references";
import { describe, expect, test } from "vitest";
import { CudaBackend } from "../src/backend.ts";
import { InterpretedDriver } from "./interpreter/interpretedDriver.ts";

// Depths of which the vector kernel reads 16 bytes at a time, four times at once, once, and not at all.
const depths = [1024, 512, 384, 128, 96, 33];

describe.each(["f32", "f16", "bf16"] as const)("the vector kernel with %s weights", (dtype: DType) => {
  test.each(depths)("depth %i", async (depth) => {
    const columns = 6;
    const spec = { dtype, shape: [columns, depth] };
    const stored = encode(spec, uniform(depth, columns * depth));
    const weights = decode(spec, stored);
    const backend = new CudaBackend(new InterpretedDriver());
    const program = createProgram();
    const a = program.input("a", "f32", [program.dim("T", 8), depth]);
    program.output("y", program.matmul(a, program.constant(stored, dtype, spec.shape), { transposeB: true }));
    const plan = await backend.compile(program);
    for (const rows of [1, 3, 5, 8]) {
      const x = uniform(rows, rows * depth);
      const want = { spec: { dtype: "f32", shape: [rows, columns] }, data: new Float32Array(rows * columns) } as const;
      const tensors = [
        { spec: { dtype: "f32", shape: [rows, depth] }, data: x },
        { spec, data: weights },
      ] as const;
      referenceOf(ops.matmul)(tensors, { transposeA: false, transposeB: true, activations: "f32" }, want);
      const got = await plan.run({ a: x }).y!.data();
      for (const [i, value] of want.data.entries())
        expect(Math.abs(got[i]! - value), `element ${i} of ${rows} rows`).toBeLessThan(depth * 1e-7);
    }
    await backend.dispose();
  });
});
