import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { type Backend, createProgram, type DType } from "@centella/core";
import { halfToFloat } from "@centella/quant";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { wasm } from "../src/index.ts";
import { targets } from "./shared.ts";

const bytesOf = (data: { buffer: ArrayBufferLike; byteOffset: number; byteLength: number }): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

describe.each(targets)("a row's bits do not depend on the number of rows, relaxed: $relaxed", ({ relaxed }) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await wasm({ relaxed }).open();
  });
  afterAll(() => backend.dispose());

  async function rows(dtype: DType, transposeB: boolean, activations: "f32" | "ggml", k: number, n: number): Promise<void> {
    // More tiles of tokens than one pass over the weights covers, plus a single token.
    const most = 69;
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("T", most), k]);
    const shape = transposeB ? [n, k] : [k, n];
    const w = program.persistent("w", { dtype, shape });
    program.output("y", program.matmul(x, w, { transposeB, activations }));
    const plan = await backend.compile(program);
    await plan.load("w", sourceOf(contentsOf({ dtype, shape }, 5).stored));
    const data = uniform(6, most * k);
    const all = plan.runSync!({ x: data }).y as Float32Array;
    expect(all.some((value) => value !== 0)).toBe(true);
    for (const count of [1, 2, 3, 4, 5, 7, 9, 11, 13]) {
      const part = plan.runSync!({ x: data.slice(0, count * k) }).y as Float32Array;
      expect(bytesOf(part), `T = ${count}`).toEqual(bytesOf(all.slice(0, count * n)));
    }
    const last = plan.runSync!({ x: data.slice((most - 1) * k) }).y as Float32Array;
    expect(bytesOf(last), "the last row alone").toEqual(bytesOf(all.slice((most - 1) * n)));
    plan.dispose();
  }

  test.each(["f32", "f16", "bf16"] as const)("%s, b as [n, k]", (dtype) => rows(dtype, true, "f32", 1027, 37));
  test.each(["f32", "f16", "bf16"] as const)("%s, b as [k, n]", (dtype) => rows(dtype, false, "f32", 1027, 37));
  test.each([
    [7, 33, 65],
    [50, 70, 90],
    [12, 1100, 130],
    [20, 1100, 130],
    [5, 520, 1100],
    [2, 40, 5000],
  ])("%i × %i × %i without packing: the same bits as rows of a large product", async (m, k, n) => {
    const weights = contentsOf({ dtype: "f32", shape: [k, n] }, 7).stored;
    const results: Float32Array[] = [];
    for (const rows of [m, 400]) {
      const program = createProgram();
      const w = program.persistent("w", { dtype: "f32", shape: [k, n] });
      program.output("y", program.matmul(program.input("x", "f32", [rows, k]), w));
      const plan = await backend.compile(program);
      await plan.load("w", sourceOf(weights));
      const x = new Float32Array(rows * k);
      x.set(uniform(8, m * k));
      results.push(plan.runSync!({ x }).y as Float32Array);
      plan.dispose();
    }
    const [small, large] = results;
    expect(bytesOf(small!)).toEqual(bytesOf(large!.slice(0, m * n)));
  });

  test("f16 weights with infinities, NaN and subnormals: one row is computed as many are", async () => {
    const [n, k] = [9, 1030];
    const halves = new Uint16Array(n * k).map((_, i) => 0x2000 + ((i * 97) & 0x1fff) + (i % 3 === 0 ? 0x8000 : 0));
    // Infinities of both signs, NaN and subnormals in some rows: in the first block of k, the second, and the
    // remainder.
    const special: readonly [row: number, at: number, half: number][] = [
      [1, 5, 0x7c00],
      [2, 600, 0xfc00],
      [3, 1029, 0x7c00],
      [4, 77, 0x7e00],
      [6, 8, 0x0001],
      [6, 1025, 0x83ff],
    ];
    for (const [row, at, half] of special) halves[row * k + at] = half;
    const program = createProgram();
    // Widened to panels as a whole, and multiplied in place as parts.
    const tokens = 14;
    const x = program.input("x", "f32", [program.dim("T", tokens), k]);
    program.output("y", program.matmul(x, program.persistent("w", { dtype: "f16", shape: [n, k] }), { transposeB: true }));
    const plan = await backend.compile(program);
    await plan.load("w", sourceOf(halves));
    const data = uniform(3, tokens * k).map((value) => value + 2);
    // Activations that no half can hold.
    data.set([1e6, -3e30, 65_536], k + 20);
    data[2 * k + 700] = Infinity;
    const all = plan.runSync!({ x: data }).y as Float32Array;
    for (const [first, count] of [0, 1, 2, 3].flatMap((row) => [[row, 1] as const, [row, 5] as const])) {
      const part = plan.runSync!({ x: data.slice(first * k, (first + count) * k) }).y as Float32Array;
      expect([...part], `rows from ${first} on`).toEqual([...all.slice(first * n, (first + count) * n)]);
    }
    expect([1, 2, 3, 4].map((row) => all[row])).toEqual([Infinity, -Infinity, Infinity, Number.NaN]);
    let want = 0;
    for (let i = 0; i < k; i++) want += data[k + i]! * halfToFloat(halves[i]!);
    expect(all[n]! / want).toBeCloseTo(1, 5);
    plan.dispose();
  });

  const blockTypes = ["q4_0", "q5_1", "q8_0", "q2_K", "q4_K", "q6_K", "iq4_xs", "mxfp4", "iq2_xs"] as const;
  test.each(blockTypes)("%s, exact activations", (dtype) => rows(dtype, true, "f32", 1280, 37));
  test.each(blockTypes)("%s, ggml's activations", (dtype) => rows(dtype, true, "ggml", 1280, 37));

  test.each(["f32", "f16", "q8_0"] as const)(
    "attention over %s: a prefill and single steps, in blocks and in one piece",
    async (cacheType) => {
      const [tokens, heads, kvHeads, dK, dV] = [13, 4, 2, 20, 44];
      const attend = async (blockSize: number, table: readonly number[]): Promise<Uint8Array[]> => {
        const slots = Int32Array.from({ length: tokens }, (_, j) => table[Math.floor(j / blockSize)]! * blockSize + (j % blockSize));
        const program = createProgram();
        const T = program.dim("T", tokens);
        const cache = program.persistent("cache", { dtype: cacheType, shape: [64, kvHeads, dK + dV] }, { init: "zeros" });
        const input = (name: string, h: number, d: number) => program.input(name, "f32", [T, h, d]);
        const written = program.kvWrite(cache, input("k", kvHeads, dK), input("v", kvHeads, dV), program.input("slots", "i32", [T]));
        const [positions, seqOf] = [program.input("positions", "i32", [T]), program.input("seqOf", "i32", [T])];
        const blockTable = program.input("blockTable", "i32", [1, table.length]);
        const seqLens = program.input("seqLens", "i32", [1]);
        const y = program.attention(input("q", heads, dK), written, positions, seqOf, blockTable, seqLens, { scale: 0.2, blockSize });
        program.output("y", y);
        const plan = await backend.compile(program);
        const [q, k, v] = [uniform(1, tokens * heads * dK), uniform(2, tokens * kvHeads * dK), uniform(3, tokens * kvHeads * dV)];
        const run = (from: number, to: number): Uint8Array => {
          const part = (data: Float32Array, width: number): Float32Array => data.slice(from * width, to * width);
          const { y: output } = plan.runSync!({
            q: part(q, heads * dK),
            k: part(k, kvHeads * dK),
            v: part(v, kvHeads * dV),
            slots: slots.slice(from, to),
            positions: Int32Array.from({ length: to - from }, (_, i) => from + i),
            seqOf: new Int32Array(to - from),
            blockTable: Int32Array.from(table),
            seqLens: Int32Array.of(to),
          });
          return bytesOf(output!);
        };
        const whole = run(0, tokens);
        const steps = Array.from({ length: tokens }, (_, t) => run(t, t + 1));
        plan.dispose();
        expect(Uint8Array.from(steps.flatMap((step) => [...step]))).toEqual(whole);
        return [whole];
      };
      const [onePiece] = await attend(64, [0]);
      const [blocks] = await attend(4, [9, 2, 3, 11]);
      expect(blocks).toEqual(onePiece);
    },
  );

  test.each([
    { cacheType: "f32", heads: 7, kvHeads: 1, window: 0 },
    { cacheType: "f16", heads: 6, kvHeads: 2, window: 270 },
    { cacheType: "f16", heads: 7, kvHeads: 1, window: 0 },
    { cacheType: "f16", heads: 4, kvHeads: 1, window: 0 },
    { cacheType: "f16", heads: 4, kvHeads: 2, window: 0 },
    { cacheType: "f16", heads: 1, kvHeads: 1, window: 100 },
    { cacheType: "q8_0", heads: 5, kvHeads: 5, window: 40 },
  ] as const)(
    "attention of $heads heads over $kvHeads of $cacheType, window $window: parts of a long prompt, whatever comes later",
    async (of) => {
      const { cacheType, heads, kvHeads, window } = of;
      const [tokens, d, blockSize] = [530, 32, 32];
      const program = createProgram();
      const T = program.dim("T", tokens);
      const cache = program.persistent("cache", { dtype: cacheType, shape: [544, kvHeads, 2 * d] });
      const ints = (name: string, shape: Parameters<typeof program.input>[2]) => program.input(name, "i32", shape);
      const q = program.input("q", "f32", [T, heads, d]);
      const places = [ints("positions", [T]), ints("seqOf", [T]), ints("blockTable", [1, 17]), ints("seqLens", [1])] as const;
      program.output("y", program.attention(q, cache, ...places, { scale: 0.2, blockSize, window }));
      const plan = await backend.compile(program);
      const { stored } = contentsOf({ dtype: cacheType, shape: [544, kvHeads, 2 * d] }, 3);
      await plan.load("cache", sourceOf(stored));
      const data = uniform(5, tokens * heads * d);
      const run = (from: number, to: number): Uint8Array => {
        const { y } = plan.runSync!({
          q: data.slice(from * heads * d, to * heads * d),
          positions: Int32Array.from({ length: to - from }, (_, i) => from + i),
          seqOf: new Int32Array(to - from),
          blockTable: Int32Array.from({ length: 17 }, (_, i) => 16 - i),
          seqLens: Int32Array.of(tokens),
        });
        return bytesOf(y!);
      };
      const whole = run(0, tokens);
      expect(whole.some((byte) => byte !== 0)).toBe(true);
      const bytes = 4 * heads * d;
      for (const [from, to] of [
        [0, 1],
        [250, 263],
        [255, 256],
        [256, 257],
        [300, 303],
        [511, 530],
        [529, 530],
      ] as const)
        expect(run(from, to), `tokens ${from} to ${to}`).toEqual(whole.slice(from * bytes, to * bytes));
      // Nothing after the first 300 positions may affect them, not even through a product with zero.
      const rowBytes = stored.length / 544;
      const spoilt = stored.slice();
      for (let position = 300; position < tokens; position++) {
        const slot = (16 - Math.floor(position / blockSize)) * blockSize + (position % blockSize);
        spoilt.fill(0xff, slot * rowBytes, (slot + 1) * rowBytes);
      }
      await plan.load("cache", sourceOf(spoilt));
      expect(run(0, tokens).slice(0, 300 * bytes)).toEqual(whole.slice(0, 300 * bytes));
      plan.dispose();
    },
  );

  test.each([1, 2, 3, 4, 7])("attention of %i heads over an infinity or a NaN in f16: single tokens as together", async (heads) => {
    const [tokens, d] = [96, 16];
    const program = createProgram();
    const T = program.dim("T", tokens);
    const cache = program.persistent("cache", { dtype: "f16", shape: [tokens, 1, 2 * d] });
    const ints = (name: string, shape: Parameters<typeof program.input>[2]) => program.input(name, "i32", shape);
    const q = program.input("q", "f32", [T, heads, d]);
    const places = [ints("positions", [T]), ints("seqOf", [T]), ints("blockTable", [1, 1]), ints("seqLens", [1])] as const;
    program.output("y", program.attention(q, cache, ...places, { scale: 0.2, blockSize: tokens }));
    const plan = await backend.compile(program);
    const data = uniform(5, tokens * heads * d);
    const run = async (from: number, to: number): Promise<Float32Array> => {
      const { y } = plan.runSync!({
        q: data.slice(from * heads * d, to * heads * d),
        positions: Int32Array.from({ length: to - from }, (_, i) => from + i),
        seqOf: new Int32Array(to - from),
        blockTable: Int32Array.of(0),
        seqLens: Int32Array.of(tokens),
      });
      return y as Float32Array;
    };
    // A value in the first tile of positions, one in the last, and a key.
    for (const [element, half, isExpected] of [
      [10 * 2 * d + d + 3, 0x7c00, (y: number) => y === Number.POSITIVE_INFINITY],
      [80 * 2 * d + d + 3, 0xfc00, (y: number) => y === Number.NEGATIVE_INFINITY],
      [80 * 2 * d + 3, 0x7e00, Number.isNaN],
    ] as const) {
      const stored = new Uint16Array(contentsOf({ dtype: "f16", shape: [tokens, 1, 2 * d] }, 3).stored.slice().buffer);
      stored[element] = half;
      await plan.load("cache", sourceOf(new Uint8Array(stored.buffer)));
      const whole = await run(0, tokens);
      for (const token of [5, 11, 70, 95]) {
        const own = await run(token, token + 1);
        expect(own, `token ${token}`).toEqual(whole.slice(token * heads * d, (token + 1) * heads * d));
        expect(own.every(Number.isFinite)).toBe(token < Math.floor(element / (2 * d)));
      }
      expect(isExpected(whole[(tokens - 1) * heads * d + 3]!)).toBe(true);
    }
    plan.dispose();
  });

  test("attention does not see positions without a slot", async () => {
    const [heads, d, blockSize] = [3, 16, 4];
    const program = createProgram();
    const cache = program.persistent("cache", { dtype: "f32", shape: [16, 1, 2 * d] });
    const N = program.dim("N", 4);
    const q = program.input("q", "f32", [1, heads, d]);
    const one = (name: string) => program.input(name, "i32", [1]);
    const blockTable = program.input("blockTable", "i32", [1, N]);
    const params = { scale: 0.25, blockSize, causal: false };
    program.output("y", program.attention(q, cache, one("positions"), one("seqOf"), blockTable, one("seqLens"), params));
    const plan = await backend.compile(program);
    await plan.load("cache", sourceOf(uniform(3, 16 * 2 * d)));
    const data = uniform(4, heads * d);
    const run = (...blocks: number[]): Float32Array => {
      const [positions, seqOf, seqLens] = [Int32Array.of(0), Int32Array.of(0), Int32Array.of(blocks.length * blockSize)];
      return plan.runSync!({ q: data, positions, seqOf, blockTable: Int32Array.from(blocks), seqLens }).y as Float32Array;
    };
    const present = run(2, 0);
    expect(present.some((value) => value !== 0)).toBe(true);
    // Sums of weights are ordered differently: equal except for rounding.
    for (const blocks of [
      [2, 7, -1, 0],
      [-1, 2, 0, 4],
    ])
      run(...blocks).forEach((value, i) => void expect(Math.abs(value - present[i]!), `${blocks}`).toBeLessThan(1e-6));
    expect(run(4, -1).every((value) => value === 0)).toBe(true);
    plan.dispose();
  });

  test.each([1, 3])("attention of several sequences on %i threads: each token's as if it were alone", async (threads) => {
    const [heads, kvHeads, d, blockSize, cacheSlots] = [6, 3, 16, 8, 64];
    // A part of a prompt between single tokens, and one token of a longer text.
    const sequences = [
      { table: [3, 0], length: 9, tokens: 1 },
      { table: [1, 5], length: 12, tokens: 5 },
      { table: [7, 2], length: 16, tokens: 1 },
      { table: [4, 6], length: 3, tokens: 1 },
    ];
    const own = await wasm({ relaxed, threads }).open();
    const program = createProgram();
    const [T, S] = [program.dim("T", 8), program.dim("S", 4)];
    const cache = program.persistent("cache", { dtype: "f32", shape: [cacheSlots, kvHeads, 2 * d] });
    const ints = (name: string, shape: Parameters<typeof program.input>[2]) => program.input(name, "i32", shape);
    const q = program.input("q", "f32", [T, heads, d]);
    const [positions, seqOf, blockTable, seqLens] = [
      ints("positions", [T]),
      ints("seqOf", [T]),
      ints("blockTable", [S, 2]),
      ints("seqLens", [S]),
    ];
    program.output("y", program.attention(q, cache, positions, seqOf, blockTable, seqLens, { scale: 0.25, blockSize }));
    const plan = await own.compile(program);
    await plan.load("cache", sourceOf(uniform(4, cacheSlots * kvHeads * 2 * d)));
    const all = sequences.flatMap(({ length, tokens }, index) =>
      Array.from({ length: tokens }, (_, i) => ({ index, position: length - tokens + i })),
    );
    const data = uniform(5, all.length * heads * d);
    const attend = async (from: number, to: number): Promise<Uint8Array> => {
      const some = all.slice(from, to);
      const used = [...new Set(some.map(({ index }) => index))];
      const { y } = plan.run({
        q: data.slice(from * heads * d, to * heads * d),
        positions: Int32Array.from(some, ({ position }) => position),
        seqOf: Int32Array.from(some, ({ index }) => used.indexOf(index)),
        blockTable: Int32Array.from(used.flatMap((index) => sequences[index]!.table)),
        seqLens: Int32Array.from(used, (index) => sequences[index]!.length),
      });
      return bytesOf((await y!.data()) as Float32Array);
    };
    const together = await attend(0, all.length);
    const alone = await Promise.all(all.map((_, token) => attend(token, token + 1)));
    expect(together.some((byte) => byte !== 0)).toBe(true);
    expect(Uint8Array.from(alone.flatMap((bytes) => [...bytes]))).toEqual(together);
    await own.dispose();
  });
});
