import { contentsOf, random, sourceOf, uniform } from "@centella/conformance";
import { type Backend, createProgram, type DType, type Program, reference, type TypedArray, type Value } from "@centella/core";
import { roundActivations } from "@centella/quant";
import { afterAll, expect, test } from "vitest";
import { describeOpened } from "../support/describeOpened.ts";
import { openBackend } from "../support/openBackend.ts";

await describeOpened("webgpu numerics", openBackend(), ({ backend }) => {
  afterAll(() => backend.dispose());

  // A product with the identity gives the rounded activations themselves, so they can be compared bit for bit.
  for (const type of ["q8_0", "q8_1", "q8_K"] as const) {
    test(`activations are rounded exactly as ggml does for ${type}`, async () => {
      const [rows, k] = [40, 256];
      const program = createProgram();
      const w = program.persistent("w", { dtype: type, shape: [k, k] });
      program.output("y", program.matmul(program.input("x", "f32", [rows, k]), w, { transposeB: true, activations: "ggml" }));
      const plan = await backend.compile(program);
      await plan.load("w", sourceOf(identity(type, k)));
      const next = random(7);
      // Magnitudes from 2^-24 (f16's smallest) to 2^12, ties among them.
      const x = Float32Array.from({ length: rows * k }, (_, i) => {
        const size = 2 ** ((Math.floor(i / 32) % 37) - 24);
        return i % 5 === 0 ? size * (Math.floor(next() * 509) / 254 - 1) : size * (2 * next() - 1);
      });
      const y = await plan.run({ x }).y!.data();
      const want = new Float32Array(rows * k);
      for (let row = 0; row < rows; row++) {
        const slice = [row * k, (row + 1) * k] as const;
        roundActivations(type, x.subarray(...slice), want.subarray(...slice));
      }
      const wrong = want.reduce((count, value, i) => count + (value === y[i] ? 0 : 1), 0);
      expect(wrong).toBe(0);
      plan.dispose();
    });
  }

  test("products of so many rows that tiles are large", async () => {
    // 17 tiles of 128 rows by 16 of 128 columns, the last ones cut off.
    const [m, n, k] = [2051, 2045, 32];
    const next = random(11);
    const draw = (count: number): Float32Array => Float32Array.from({ length: count }, () => 2 * next() - 1);
    const [x, w] = [draw(m * k), draw(n * k)];
    const program = createProgram();
    const weight = program.persistent("w", { dtype: "f32", shape: [n, k] });
    program.output("y", program.matmul(program.input("x", "f32", [program.dim("T", 4096), k]), weight, { transposeB: true }));
    const plan = await backend.compile(program);
    await plan.load("w", sourceOf(w));
    const y = await plan.run({ x }).y!.data();
    let worst = 0;
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let d = 0; d < k; d++) sum += x[i * k + d]! * w[j * k + d]!;
        worst = Math.max(worst, Math.abs(sum - y[i * n + j]!));
      }
    }
    expect(worst).toBeLessThan(1e-5);
    plan.dispose();
  });

  // Depths of whole steps that are read ahead, and not.
  test.each([
    ["f16", 4096],
    ["bf16", 2560],
    ["f32", 2048],
  ] as const)("a long row by %s weights, of %s elements", async (dtype, k) => {
    const n = 9;
    const program = createProgram();
    const weight = program.persistent("w", { dtype, shape: [n, k] });
    program.output("y", program.matmul(program.input("x", "f32", [1, k]), weight, { transposeB: true }));
    const plan = await backend.compile(program);
    const { stored, decoded } = contentsOf({ dtype, shape: [n, k] }, 5);
    await plan.load("w", sourceOf(stored));
    const x = uniform(6, k);
    const y = await plan.run({ x }).y!.data();
    const want = Array.from({ length: n }, (_, j) => x.reduce((sum, value, d) => sum + value * Number(decoded[j * k + d]!), 0));
    expect(Math.max(...want.map((value, j) => Math.abs(value - y[j]!)))).toBeLessThan(1e-4);
    plan.dispose();
  });

  test("positions in blocks outside the cache are not seen, whatever the cache's first slot has", async () => {
    const [slots, dK, dV] = [8, 8, 8];
    const program = createProgram();
    const integers = (name: string, length: number): Value => program.input(name, "i32", [length]);
    const cache = program.input("cache", "f32", [slots, 1, dK + dV]);
    const table = program.reshape(integers("table", 2), { shape: [1, 2] });
    const lists = [integers("positions", 1), integers("seqOf", 1), table, integers("lengths", 1)] as const;
    program.output("y", program.attention(program.input("q", "f32", [1, 1, dK]), cache, ...lists, { scale: 1, blockSize: 4 }));
    const plan = await backend.compile(program);
    const values = new Float32Array(slots * (dK + dV)).fill(1).fill(Number.NaN, 0, dK + dV);
    const y = await plan
      .run({
        ...{ q: new Float32Array(dK), cache: values, table: Int32Array.of(1, 99) },
        ...{ positions: Int32Array.of(7), seqOf: Int32Array.of(0), lengths: Int32Array.of(8) },
      })
      .y!.data();
    expect([...y]).toEqual(Array(dV).fill(1));
    plan.dispose();
  });

  // Large elementwise steps store vectors. Lanes keep rows of these lengths in registers, except where the name says otherwise.
  test.each<readonly [string, readonly number[], (program: Program, x: Value) => Value]>([
    ["add of a row, whose elements end within a vector", [257, 257], (program, x) => program.add(x, firstRow(program, x))],
    ["relu of vectors that end within a workgroup", [65_542], (program, x) => program.relu(x)],
    ["softmax of a row in registers", [3, 2048], (program, x) => program.softmax(x)],
    ["softmax of a row that is read again", [3, 1500], (program, x) => program.softmax(x)],
    ["logSoftmax of a row in registers", [3, 1024], (program, x) => program.logSoftmax(x)],
    [
      "layerNorm of a row in registers",
      [3, 2048],
      (program, x) => program.layerNorm(x, program.reshape(firstRow(program, x), { shape: [2048] }), { eps: 1e-5 }),
    ],
    ["max of a long row of whole vectors", [20_480], (program, x) => program.max(x)],
    ["max of a long row that ends within a vector", [20_483], (program, x) => program.max(x)],
    ["max of long rows, whose last turns some lanes have", [2, 20_004], (program, x) => program.max(x, { axis: 1 })],
    ["argmax of a long row of whole vectors", [2, 20_480], (program, x) => program.argmax(x)],
  ])("%s", async (_name, shape, call) => {
    const next = random(3);
    const data = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => 8 * next() - 4);
    const resultOn = async (on: Backend): Promise<TypedArray> => {
      const program = createProgram();
      program.output("y", call(program, program.input("x", "f32", shape)));
      const plan = await on.compile(program);
      const y = await plan.run({ x: data }).y!.data();
      plan.dispose();
      return y;
    };
    const want = await resultOn(await reference().open());
    const got = await resultOn(backend);
    expect(got.length).toBe(want.length);
    const worst = Array.from(want).reduce((most, value, i) => Math.max(most, Math.abs(value - got[i]!)), 0);
    expect(worst).toBeLessThan(2e-5);
  });

  for (const withFactors of [false, true]) {
    test(`rope is exact at far positions${withFactors ? " with frequency factors" : ""}`, async () => {
      const [d, base] = [64, 500_000];
      const positions = Int32Array.of(0, 1, 4095, 131_071, 1_000_003, -7);
      const factors = Float32Array.from({ length: d / 2 }, (_, i) => (i % 3 === 0 ? 1 : 1 + i / 3));
      const program = createProgram();
      const x = program.input("x", "f32", [positions.length, 1, d]);
      const at = program.input("positions", "i32", [positions.length]);
      const freqFactors = withFactors ? program.input("factors", "f32", [d / 2]) : undefined;
      program.output("y", program.rope(x, at, { ropeType: "neox", base, ...(freqFactors === undefined ? {} : { freqFactors }) }));
      const plan = await backend.compile(program);
      const ones: Record<string, TypedArray> = { x: new Float32Array(positions.length * d).fill(1), positions };
      const y = await plan.run(withFactors ? { ...ones, factors } : ones).y!.data();
      let worst = 0;
      positions.forEach((position, t) => {
        for (let i = 0; i < d / 2; i++) {
          const angle = (position * base ** ((-2 * i) / d)) / (withFactors ? factors[i]! : 1);
          worst = Math.max(worst, Math.abs(y[t * d + i]! - (Math.cos(angle) - Math.sin(angle))));
          worst = Math.max(worst, Math.abs(y[t * d + i + d / 2]! - (Math.cos(angle) + Math.sin(angle))));
        }
      });
      expect(worst).toBeLessThan(1e-6);
      plan.dispose();
    });
  }
});

function firstRow(program: Program, x: Value): Value {
  return program.slice(x, { axis: 0, end: 1 });
}

/** The identity in a type of 8-bit quants, with scale 1. */
function identity(type: DType & ("q8_0" | "q8_1" | "q8_K"), k: number): Uint8Array {
  const [elements, bytes, quants] = { q8_0: [32, 34, 2], q8_1: [32, 36, 4], q8_K: [256, 292, 4] }[type] as [number, number, number];
  const one = type === "q8_K" ? [0, 0, 0x80, 0x3f] : [0, 0x3c];
  const stored = new Uint8Array(((k * k) / elements) * bytes);
  for (let block = 0; block < (k * k) / elements; block++) stored.set(one, block * bytes);
  for (let i = 0; i < k; i++) {
    const at = i * k + i;
    stored[Math.floor(at / elements) * bytes + quants + (at % elements)] = 1;
  }
  return stored;
}
