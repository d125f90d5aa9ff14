import { tupleOf } from "@centella/core/backend";
import type { I32, U32 } from "@centella/gpu-kernels";
import { describe, expect, test } from "vitest";
import type { PtxEmitter } from "../../src/ptx/emitter.ts";
import { type MatrixCount, type MatrixWords, PtxBuilder, type SwizzledRowBytes } from "../../src/ptx/index.ts";
import { assemble, assembler } from "../texts/assemble.ts";
import { runOn } from "./runKernel.ts";

// Forms of matrix instructions that the backend's own kernels do without.

const counts = [1, 2, 4] as const;
const half = (matrix: number, row: number, column: number): number => 100 * matrix + 10 * row + column;

/** Words that lanes hold of matrix `matrix`: two halves of a row, or of a column where `isTransposed`. */
function wordOf(lane: number, matrix: number, isTransposed: boolean): number {
  const [line, first] = [lane >> 2, 2 * (lane & 3)];
  const at = (i: number): number => (isTransposed ? half(matrix, first + i, line) : half(matrix, line, first + i));
  return at(0) + 65536 * at(1);
}

/** Writes matrices to shared memory, and each lane's words of the first `count` ones to `y`. `lines`: rows that lanes point at. */
function loaded(k: PtxEmitter, count: MatrixCount, isTransposed: boolean, isOrdered = true): void {
  const lane = k.thread();
  const memory = k.sharedMemory("u32", 128);
  const row = k.sharedAtBytes<"u32">(memory, k.mul(lane, 16));
  for (let i = 0; i < 4; i++) {
    const low = k.mad(k.shiftRight(lane, 3), 100, k.mad(k.and(lane, 7), 10, k.constant("u32", 2 * i)));
    k.st("u32", row, k.or(low, k.shiftLeft(k.add(low, 1), 16)), i);
  }
  if (isOrdered) k.syncWarp();
  for (const [i, word] of k.loadMatrices(row, 0, { count, isTransposed }).entries())
    k.st("u32", k.at("u32", k.pointer("y", "u32"), k.mad(lane, count, i)), word);
}

/** Stores words that lanes hold as {@link wordOf} gives them, and writes the memory's rows to `y`. */
function storedMatrices(k: PtxEmitter, count: MatrixCount, isTransposed: boolean, isOrdered = true): void {
  const lane = k.thread();
  const row = k.sharedAtBytes<"u32">(k.sharedMemory("u32", 128), k.mul(lane, 16));
  const [line, first] = [k.shiftRight(lane, 2), k.shiftLeft(k.and(lane, 3), 1)];
  const words = Array.from({ length: count }, (_, matrix): U32 => {
    const [r, c] = isTransposed ? [first, line] : [line, first];
    const low = k.add(k.mad(r, 10, c), 100 * matrix);
    return k.or(low, k.shiftLeft(k.add(low, isTransposed ? 10 : 1), 16));
  });
  k.storeMatrices(row, words as readonly U32[] as MatrixWords, 0, { isTransposed });
  if (isOrdered) k.syncWarp();
  k.if(k.compare("lt", lane, 8 * count), () => {
    for (const [i, word] of k.ldVector("u32", row).entries()) k.st("u32", k.at("u32", k.pointer("y", "u32"), k.mad(lane, 4, i)), word);
  });
}

const one = Float32Array.of(0);
const forms = counts.flatMap((count) => [false, true].map((isTransposed) => ({ count, isTransposed })));

describe.each(forms)("8 x 8 matrices, %o", ({ count, isTransposed }) => {
  test("are loaded as the lanes' words", async () => {
    const y = new Uint32Array((await runOn(one, (k) => loaded(k, count, isTransposed), { words: 32 * count })).buffer);
    expect([...y]).toEqual(Array.from(y, (_, i) => wordOf(Math.floor(i / count), i % count, isTransposed)));
  });

  test("are stored from the lanes' words", async () => {
    const options = { words: 32 * count, target: "sm_90" } as const;
    const y = new Uint32Array((await runOn(one, (k) => storedMatrices(k, count, isTransposed), options)).buffer);
    const want = Array.from(y, (_, i) => {
      const [matrix, row, pair] = [i >> 5, (i >> 2) & 7, i & 3];
      return half(matrix, row, 2 * pair) + 65536 * half(matrix, row, 2 * pair + 1);
    });
    expect([...y]).toEqual(want);
  });

  test("need a barrier between plain accesses and the lanes' own", async () => {
    const options = { words: 32 * count, target: "sm_90" } as const;
    await expect(runOn(one, (k) => loaded(k, count, isTransposed, false), options)).rejects.toThrow(/race|unwritten/);
    await expect(runOn(one, (k) => storedMatrices(k, count, isTransposed, false), options)).rejects.toThrow(/race|unwritten/);
  });
});

test("stores need sm_90", () => {
  const k = new PtxBuilder("k", [], 32);
  expect(() => k.storeMatrices(k.sharedMemory("u32", 4), [k.thread()])).toThrow("matrixStore needs sm_90");
});

const bytes = Int8Array.from({ length: 16 * 32 + 32 * 8 }, (_, i) => (i * 97) ^ (i >> 3));
const start = Int32Array.from({ length: 128 }, (_, i) => (i - 64) * 1e7);

/** `y [16, 8] = a [16, 32] * b + c`, with `a`, the columns of b `[8, 32]`, and c one after the other in x. `shift` moves the columns that lanes load. */
function byteProduct(k: PtxEmitter, shift = 0): void {
  const x = k.pointer("x", "u32");
  const [g, t] = [k.shiftRight(k.thread(), 2), k.and(k.thread(), 3)];
  const load = (first: number, row: U32, word: U32): U32 => k.ld("u32", k.at("u32", x, k.add(k.mad(row, 8, word), first)));
  const far = k.add(t, 4);
  const column = k.and(k.add(g, shift), 7);
  const below = k.add(g, 8);
  const places = [g, below].flatMap((row) => [0, 1].map((i) => k.mad(row, 8, k.mad(t, 2, i))));
  const sums = places.map((place): I32 => k.ld("i32", k.at("i32", k.pointer("x", "i32"), k.add(place, 192))));
  const result = k.multiplyBytes(
    [load(0, g, t), load(0, below, t), load(0, g, far), load(0, below, far)],
    [load(128, column, t), load(128, column, far)],
    [sums[0]!, sums[1]!, sums[2]!, sums[3]!],
  );
  for (const [i, place] of places.entries()) k.st("i32", k.at("i32", k.pointer("y", "i32"), place), result[i]!);
}

describe("products of bytes", () => {
  const x = new Float32Array(new Uint8Array([...new Uint8Array(bytes.buffer), ...new Uint8Array(start.buffer)]).buffer);
  const want = Array.from(start, (sum, i) => {
    const [row, column] = [i >> 3, i & 7];
    for (let k = 0; k < 32; k++) sum += bytes[32 * row + k]! * bytes[512 + 32 * column + k]!;
    return sum;
  });

  test("match the definition", async () => {
    const y = await runOn(x, byteProduct, { words: 128 });
    expect([...new Int32Array(y.buffer)]).toEqual(want);
  });

  test("show a wrong lane map", async () => {
    const y = new Int32Array((await runOn(x, (k) => byteProduct(k, 1), { words: 128 })).buffer);
    expect(want.filter((value, i) => value !== y[i]).length).toBeGreaterThan(100);
  });

  test("wrap", async () => {
    const body = (k: PtxEmitter): void => {
      const [word, top] = [k.constant("u32", 0x7f7f7f7f), k.constant("i32", 2 ** 31 - 1)];
      const [sum] = k.multiplyBytes([word, word, word, word], [word, word], [top, top, top, top]);
      k.if(k.compare("eq", k.thread(), 0), () => k.st("i32", k.pointer("y", "i32"), sum));
    };
    const y = await runOn(one, body, { words: 1 });
    expect(new Int32Array(y.buffer)[0]).toBe((2 ** 31 - 1 + 32 * 127 * 127) | 0);
  });
});

const a = Float32Array.from({ length: 128 }, (_, i) => Math.sin(i) * 4);
const b = Float32Array.from({ length: 64 }, (_, i) => Math.cos(3 * i));
const c = Float32Array.from({ length: 128 }, (_, i) => i / 16);

/** To 11 significant bits, halves away from zero. */
function rounded(value: number): number {
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(value))) - 10);
  return value === 0 ? 0 : Math.sign(value) * Math.floor(Math.abs(value) / unit + 0.5) * unit;
}

/** `y [16, 8] = a [16, 8] * b [8, 8] + c`. */
function tf32Product(k: PtxEmitter, { isRounded = true, shift = 0 } = {}): void {
  const x = k.pointer("x", "f32");
  const [g, t] = [k.shiftRight(k.thread(), 2), k.and(k.thread(), 3)];
  const load = (first: number, row: U32, column: U32): U32 => {
    const value = k.ld("f32", k.at("f32", x, k.add(k.mad(row, 8, column), first)));
    return isRounded ? k.floatToTf32(value) : k.bitcast("u32", value);
  };
  const [below, far] = [k.add(g, 8), k.add(t, 4)];
  const column = k.and(k.add(g, shift), 7);
  const places = [g, below].flatMap((row) => [0, 1].map((i) => k.mad(row, 8, k.mad(t, 2, i))));
  const sums = places.map((place) => k.ld("f32", k.at("f32", x, k.add(place, 192))));
  const result = k.multiplyTf32(
    [load(0, g, t), load(0, below, t), load(0, g, far), load(0, below, far)],
    [load(128, t, column), load(128, far, column)],
    [sums[0]!, sums[1]!, sums[2]!, sums[3]!],
  );
  for (const [i, place] of places.entries()) k.st("f32", k.at("f32", k.pointer("y", "f32"), place), result[i]!);
}

describe("products of tf32", () => {
  const x = Float32Array.of(...a, ...b, ...c);
  const want = Array.from(c, (sum, i) => {
    for (let k = 0; k < 8; k++) sum += rounded(a[8 * (i >> 3) + k]!) * rounded(b[8 * k + (i & 7)]!);
    return Math.fround(sum);
  });

  test("match the definition", async () => {
    const y = await runOn(x, (k) => tf32Product(k), { words: 128 });
    expect([...y]).toEqual(want);
    // The numbers are rounded: exact products differ.
    expect(a.some((value) => rounded(value) !== value)).toBe(true);
  });

  test("show a wrong lane map", async () => {
    const y = await runOn(x, (k) => tf32Product(k, { shift: 1 }), { words: 128 });
    expect(want.filter((value, i) => Math.abs(value - y[i]!) > 1e-3).length).toBeGreaterThan(100);
  });

  test("show operands that are not rounded", async () => {
    await expect(runOn(x, (k) => tf32Product(k, { isRounded: false }), { words: 128 })).rejects.toThrow("not rounded");
  });

  test("round halves away from zero", async () => {
    const numbers = Float32Array.of(1 + 2 ** -11, -1 - 2 ** -11, 1 + 2 ** -11 - 2 ** -23, 2 - 2 ** -23, Number.POSITIVE_INFINITY, 0);
    const body = (k: PtxEmitter): void =>
      k.if(k.compare("lt", k.thread(), numbers.length), () => {
        const value = k.ld("f32", k.at("f32", k.pointer("x", "f32"), k.thread()));
        k.st("u32", k.at("u32", k.pointer("y", "u32"), k.thread()), k.floatToTf32(value));
      });
    expect([...(await runOn(numbers, body))]).toEqual([1 + 2 ** -10, -1 - 2 ** -10, 1, 2, Number.POSITIVE_INFINITY, 0]);
  });
});

/** Writes the swizzled places of the pieces of 16 rows, and those of their second halves, to `y`. */
function swizzled(k: PtxEmitter, rowBytes: SwizzledRowBytes): void {
  const pieces = rowBytes / 16;
  k.for(k.thread(), 16 * pieces, 32, (i) => {
    const [row, piece] = [k.quotient(i, pieces), k.remainder(i, pieces)];
    const y = k.at("u32", k.pointer("y", "u32"), k.mul(i, 4));
    k.st("u32", y, k.swizzledPiece(row, piece, rowBytes));
    k.st("u32", y, k.swizzledByte(row, k.mad(piece, 16, k.constant("u32", 8)), rowBytes), 1);
    k.st("u32", y, k.swizzledPiece(row, 1, rowBytes), 2);
    k.st("u32", y, k.swizzledByte(row, 4, rowBytes), 3);
  });
}

describe.each([32, 64, 128] as const)("places in swizzled rows of %i bytes", (rowBytes) => {
  const pieces = rowBytes / 16;
  // The rule in the PTX ISA's figures: as many bits of an address from bit 4 on as number the pieces of a row are combined with those from bit 7 on.
  const addressOf = (address: number): number => address ^ (((address >> 7) & (pieces - 1)) << 4);

  test("follow from the addresses", async () => {
    const y = new Uint32Array((await runOn(one, (k) => swizzled(k, rowBytes), { words: 64 * pieces })).buffer);
    const want = Array.from({ length: 16 * pieces }, (_, i) => {
      const row = Math.floor(i / pieces) * rowBytes;
      const place = (byte: number): number => addressOf(row + byte) - row;
      return [place(16 * (i % pieces)) / 16, place(16 * (i % pieces) + 8), place(16) / 16, place(4)];
    });
    expect([...y]).toEqual(want.flat());
  });

  test("spread a column over the banks", () => {
    // Eight rows, as a matrix is loaded from, are in eight different groups of four banks.
    for (let piece = 0; piece < pieces; piece++) {
      const places = Array.from({ length: 8 }, (_, row) => addressOf(row * rowBytes + 16 * piece) % 128);
      expect(new Set(places).size).toBe(8);
    }
  });
});

test.skipIf(assembler === undefined).each(["sm_80", "sm_90"] as const)("ptxas assembles all forms for %s (needs ptxas)", async (target) => {
  const k = new PtxBuilder("forms", ["y"], 32, target);
  const lane = k.thread();
  const row = k.sharedAtBytes<"u32">(k.sharedMemory("u32", 128), k.mul(lane, 16));
  const words: U32[] = [];
  for (const { count, isTransposed } of forms) {
    words.push(...k.loadMatrices(row, 0, { count, isTransposed }));
    if (target === "sm_90") k.storeMatrices(row, words.slice(0, count) as readonly U32[] as MatrixWords, 0, { isTransposed });
  }
  const [p, q, r, s] = tupleOf(words.slice(0, 4), 4);
  const signed = k.convert("i32", lane);
  for (const sum of k.multiplyBytes([p, q, r, s], [p, s], [signed, signed, signed, signed])) k.st("i32", k.pointer("y", "i32"), sum);
  const zero = k.constant("f32", 0);
  const rounded = k.floatToTf32(k.bitcast("f32", p));
  for (const sum of k.multiplyTf32([rounded, q, r, s], [p, s], [zero, zero, zero, zero])) k.st("f32", k.pointer("y", "f32"), sum);
  for (const rowBytes of [32, 64, 128] as const)
    k.st("u32", k.pointer("y", "u32"), k.swizzledByte(lane, k.swizzledPiece(lane, 1, rowBytes), rowBytes));
  expect(await assemble({ ptx: k.text(), entry: k.entry, sharedBytes: 0 }, target)).toMatchObject({ said: undefined });
});
