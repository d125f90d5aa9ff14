import { uniform } from "@centella/conformance";
import { type ConcreteSpec, createProgram, type DType, type ParamsOf, type TypedArray } from "@centella/core";
import { decode, encode, ops } from "@centella/core/backend";
import { referenceOf } from "@centella/core/references";
import { describe, expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { hopper } from "../../src/kernels/shared/gpu.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";
import { call, launchesOf } from "../texts/kernelTexts.ts";

// Depths of which the vector kernel reads 16 bytes at a time, four times at once, once, and not at all.
const depths = [1024, 512, 384, 128, 96, 33];

type Transposes = Partial<Pick<ParamsOf<"matmul">, "transposeA" | "transposeB">>;

/** @throws unless `got` is the product of `a` and `b`, as the reference computes it */
function expectProduct(
  got: ArrayLike<number>,
  a: Float32Array,
  b: { readonly spec: ConcreteSpec; readonly data: TypedArray },
  transposes: Transposes,
): void {
  const { transposeA = false, transposeB = false } = transposes;
  const [outer, inner] = b.spec.shape as [number, number];
  const [columns, depth] = transposeB ? [outer, inner] : [inner, outer];
  const rows = a.length / depth;
  const want = { spec: { dtype: "f32", shape: [rows, columns] }, data: new Float32Array(rows * columns) } as const;
  const left = { spec: { dtype: "f32", shape: transposeA ? [depth, rows] : [rows, depth] }, data: a } as const;
  referenceOf(ops.matmul)([left, b], { transposeA, transposeB, activations: "f32" }, want);
  expect(got.length).toBe(want.data.length);
  const worst = want.data.findIndex((value, i) => !(Math.abs(got[i]! - value) < depth * 1e-7));
  expect(worst < 0 ? "equal" : `element ${worst} of ${rows} rows: ${got[worst]}, expected ${want.data[worst]}`).toBe("equal");
}

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
      expectProduct(await plan.run({ a: x }).y!.data(), x, { spec, data: weights }, { transposeB: true });
    }
    await backend.dispose();
  });
});

// 3 multiprocessors. Parts of tiles in all directions, and none.
describe.each([
  { rows: 260, columns: 132, depth: 20 },
  { rows: 128, columns: 384, depth: 32 },
])("large tiles: $rows x $columns, depth $depth", ({ rows, columns, depth }) => {
  test.each<Transposes>([{}, { transposeA: true }, { transposeB: true }, { transposeA: true, transposeB: true }])(
    "%o",
    async (transposes) => {
      const program = createProgram();
      const a = program.input("a", "f32", transposes.transposeA === true ? [depth, rows] : [program.dim("T", rows), depth]);
      const shape = transposes.transposeB === true ? [columns, depth] : [depth, columns];
      const bias = program.input("bias", "f32", [columns]);
      program.output("y", program.add(program.matmul(a, program.input("b", "f32", shape), transposes), bias));
      const specs = [a.spec, { dtype: "f32", shape }] as const;
      const [launch] = launchesOf(call("matmul", specs, transposes, { T: rows }), { ...hopper, multiprocessors: 3 });
      expect(launch?.entry).toContain("matmulLargeTiles");
      const backend = new CudaBackend(new InterpretedDriver());
      const plan = await backend.compile(program);
      const [x, w] = [uniform(1, rows * depth), uniform(2, columns * depth)];
      const got = await plan.run({ a: x, b: w, bias: new Float32Array(columns).fill(0.5) }).y!.data();
      const b = { spec: { dtype: "f32", shape }, data: w } as const;
      expectProduct(
        (got as Float32Array).map((value) => value - 0.5),
        x,
        b,
        transposes,
      );
      await backend.dispose();
    },
  );
});
