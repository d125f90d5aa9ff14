import type { F32, U32 } from "@centella/gpu-kernels";
import { bfloatToFloat, floatToBfloat, floatToHalf, halfToFloat } from "@centella/quant";
import { describe, expect, test } from "vitest";
import type { PtxEmitter } from "../../src/ptx/emitter.ts";
import type { HalfType } from "../../src/ptx/matrix.ts";
import { runOn } from "./runKernel.ts";

const a = Float32Array.from({ length: 256 }, (_, i) => Math.sin(i) * 4);
const b = Float32Array.from({ length: 128 }, (_, i) => Math.cos(3 * i));
const c = Float32Array.from({ length: 128 }, (_, i) => i / 16);
const rounded: Readonly<Record<HalfType, (x: number) => number>> = {
  f16: (x) => halfToFloat(floatToHalf(x)),
  bf16: (x) => bfloatToFloat(floatToBfloat(x)),
};

/** `y [16, 8] = a [16, 16] * b [16, 8] + c`, with the matrices one after the other in x. `shift` moves the columns of b that lanes load. */
function product(k: PtxEmitter, type: HalfType, shift = 0): void {
  const [x, y] = [k.pointer("x", "f32"), k.pointer("y", "f32")];
  const lane = k.thread();
  const [g, t] = [k.shiftRight(lane, 2), k.and(lane, 3)];
  const load = (start: number, row: U32, columns: number, column: U32): F32 =>
    k.ld("f32", k.at("f32", x, k.add(k.mad(row, columns, column), start)));
  const twice = k.mul(t, 2);
  const left = (row: U32, from: U32): U32 => k.roundPair(type, load(0, row, 16, from), load(0, row, 16, k.add(from, 1)));
  const column = k.and(k.add(g, shift), 7);
  const right = (from: U32): U32 => k.roundPair(type, load(256, from, 8, column), load(256, k.add(from, 1), 8, column));
  const places = [g, k.add(g, 8)].flatMap((row) => [0, 1].map((i) => k.mad(row, 8, k.add(twice, i))));
  const sums = places.map((place) => k.ld("f32", k.at("f32", x, k.add(place, 384))));
  const far = k.add(twice, 8);
  const result = k.multiplyMatrices(
    type,
    [left(g, twice), left(k.add(g, 8), twice), left(g, far), left(k.add(g, 8), far)],
    [right(twice), right(far)],
    [sums[0]!, sums[1]!, sums[2]!, sums[3]!],
  );
  for (const [i, place] of places.entries()) k.st("f32", k.at("f32", y, place), result[i]!);
}

describe.each(["f16", "bf16"] as const)("products of %s matrices", (type) => {
  const x = Float32Array.of(...a, ...b, ...c);
  const want = Array.from(c, (start, i) => {
    let sum = start;
    for (let k = 0; k < 16; k++) sum += rounded[type](a[(i >> 3) * 16 + k]!) * rounded[type](b[k * 8 + (i & 7)]!);
    return sum;
  });

  test("match the definition", async () => {
    const y = await runOn(x, (k) => product(k, type), { words: 128 });
    for (const [i, value] of want.entries()) expect(y[i]).toBeCloseTo(value, 5);
  });

  test("show a wrong lane map", async () => {
    const y = await runOn(x, (k) => product(k, type, 1), { words: 128 });
    expect(want.filter((value, i) => Math.abs(value - y[i]!) > 1e-3).length).toBeGreaterThan(100);
  });
});

/** Loads four matrices from shared memory, whose row `8 i + r` has the halves `100 (8 i + r)` and up, and stores every lane's words. */
function loadedMatrices(k: PtxEmitter, rowBytes: number): void {
  const lane = k.thread();
  const memory = k.sharedMemory("u32", 32 * 4 + 1);
  const row = k.sharedAtBytes<"u32">(memory, k.mul(lane, 16));
  for (let word = 0; word < 4; word++) {
    const half = k.mad(lane, 100, 2 * word);
    k.st("u32", row, k.or(half, k.shiftLeft(k.add(half, 1), 16)), word);
  }
  k.sync();
  const words = k.loadMatrices(k.sharedAtBytes(memory, k.mul(lane, rowBytes)));
  for (const [i, word] of words.entries()) k.st("u32", k.at("u32", k.pointer("y", "u32"), k.mad(lane, 4, i)), word);
}

test("matrices are loaded row by row, a word for each lane", async () => {
  const got = new Uint32Array((await runOn(Float32Array.of(1), (k) => loadedMatrices(k, 16), { words: 128 })).buffer);
  for (let lane = 0; lane < 32; lane++)
    for (let i = 0; i < 4; i++) {
      const half = 100 * (8 * i + (lane >> 2)) + 2 * (lane & 3);
      expect(got[4 * lane + i]).toBe(half + (half + 1) * 65536);
    }
});

test("a row of a matrix at another place than a multiple of 16 bytes is a fault", async () => {
  await expect(runOn(Float32Array.of(1), (k) => loadedMatrices(k, 4), { words: 128 })).rejects.toThrow("multiple of 16");
});

test("a matrix product that some lanes skip is a fault", async () => {
  const body = (k: PtxEmitter): void => {
    const [word, zero] = [k.constant("u32", 0), k.constant("f32", 0)];
    k.if(k.compare("lt", k.thread(), 7), () => {
      k.multiplyMatrices("f16", [word, word, word, word], [word, word], [zero, zero, zero, zero]);
    });
  };
  await expect(runOn(Float32Array.of(1), body)).rejects.toThrow("not all lanes");
});

test("arithmetic with pairs of f16 rounds once", async () => {
  // The products of the last two are halfway between two halves: only the summands tell where to round.
  const [one, tie] = [1 + 2 ** -5, 1 + 2 ** -6];
  const numbers = [1.5, -3, 2048, 65504, 1024 + 15, -2047, one, one];
  const factors = [2, 0.25, 31, 2, 63, 2 ** -14, tie, tie];
  const summands = [0, 1.25, -63488, 1, -64512, 2 ** -24, 2 ** -24, -(2 ** -24)];
  const body = (k: PtxEmitter): void => {
    const to = k.pointer("y", "f32");
    const pair = (from: readonly number[], i: number): U32 =>
      k.roundPair("f16", k.constant("f32", from[i]!), k.constant("f32", from[i + 1]!));
    const store = (word: U32, place: number): void => {
      for (const [high, value] of k.halfPair(word).entries()) k.st("f32", to, value, place + high);
    };
    k.if(k.compare("eq", k.thread(), 0), () => {
      for (let i = 0; i < 8; i += 2) {
        const [a, b, c] = [pair(numbers, i), pair(factors, i), pair(summands, i)];
        for (const [j, word] of [k.addPairs(a, b), k.multiplyPairs(a, b), k.fmaPairs(a, b, c)].entries()) store(word, 8 * j + i);
      }
      store(k.byteToPair(k.constant("u32", 0x2a00), 1, 32), 24);
      const two = k.bytesToPair(k.constant("u32", 0x3f2a00), 1, 32);
      for (const [i, word] of [two, k.splatHalf(two, 0), k.splatHalf(two, 1)].entries()) store(word, 26 + 2 * i);
    });
  };
  const y = await runOn(new Float32Array(1), body, { words: 32 });
  const rounded16 = (values: readonly number[]): number[] => values.map(rounded.f16);
  expect([...y.slice(0, 8)]).toEqual(rounded16(numbers.map((a, i) => a + factors[i]!)));
  expect([...y.slice(8, 16)]).toEqual(rounded16(numbers.map((a, i) => a * factors[i]!)));
  const between = 1 + 2 ** -5 + 2 ** -6;
  expect([...y.slice(16, 22)]).toEqual(rounded16(numbers.slice(0, 6).map((a, i) => a * factors[i]! + summands[i]!)));
  expect([...y.slice(22, 24)]).toEqual([between + 2 ** -10, between]);
  expect([...y.slice(24)]).toEqual([10, 10, 10, 31, 10, 10, 31, 31]);
});

test("instructions on packed words", async () => {
  const words = Uint32Array.of(0x89abcdef, 0x01234567);
  const body = (k: PtxEmitter): void =>
    k.if(k.compare("eq", k.thread(), 0), () => {
      const [x, to] = [k.pointer("x", "u32"), k.pointer("y", "u32")];
      const [first, second] = [k.ld("u32", x), k.ld("u32", x, 1)];
      k.st("u32", to, k.maskOr(first, 0x000f000f, 0x64006400), 0);
      k.st(
        "u32",
        to,
        k.logic3((p, q, r) => p ^ q ^ r, first, second, 0xff),
        1,
      );
      k.st("u32", to, k.pickBytes(first, second, 0x7520), 2);
      k.st("u32", to, k.bitcast("u32", k.byteToFloat(first, 1, 5)), 3);
      const [low, high] = k.halfPair(k.roundPair("f16", k.constant("f32", 1.5), k.constant("f32", -3)));
      k.st("u32", to, k.bitcast("u32", k.fma(high, 2, low)), 4);
      k.st("u32", to, first, 5);
      k.stVector("u32", to, [first, second], 6);
    });
  const y = await runOn(new Float32Array(words.buffer), body, { words: 8 });
  const got = new Uint32Array(y.buffer);
  expect([...got.slice(0, 3)]).toEqual([0x640b640f, (0x89abcdef ^ 0x01234567 ^ 0xff) >>> 0, 0x0145abef]);
  expect([...y.slice(3, 5)]).toEqual([0xcd - 5, -4.5]);
  expect([...got.slice(6)]).toEqual([...words]);
});
