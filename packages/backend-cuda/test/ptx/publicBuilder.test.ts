import { ArgumentError } from "@centella/core";
import { expect, test } from "vitest";
import type { PtxEmitter } from "../../src/ptx/emitter.ts";
import { PtxBuilder } from "../../src/ptx/index.ts";
import { assemble, assembler } from "../texts/assemble.ts";
import { runOn } from "./runKernel.ts";

// What the backend's own kernels do without, and kernels of apps may use.

test("lanes of a warp are reduced as unsigned and as signed words", async () => {
  const words = Uint32Array.from({ length: 32 }, (_, i) => (i * 0x9e3779b9) >>> 0);
  const body = (k: PtxEmitter): void => {
    const value = k.ld("u32", k.at("u32", k.pointer("x", "u32"), k.thread()));
    const signed = k.convert("i32", value);
    for (const [i, operation] of (["add", "min", "max"] as const).entries()) {
      const [unsigned, result] = [k.reduceLanes(operation, value), k.reduceLanes(operation, signed)];
      k.if(k.compare("eq", k.thread(), 31 - i), () => {
        k.st("u32", k.pointer("y", "u32"), unsigned, i);
        k.st("i32", k.pointer("y", "i32"), result, 3 + i);
      });
    }
  };
  const y = await runOn(new Float32Array(words.buffer), body, { words: 6 });
  const [sum, signed] = [words.reduce((a, b) => (a + b) >>> 0), Int32Array.from(words, (word) => word | 0)];
  expect([...new Uint32Array(y.buffer, 0, 3)]).toEqual([sum, Math.min(...words), Math.max(...words)]);
  expect([...new Int32Array(y.buffer, 12)]).toEqual([sum | 0, Math.min(...signed), Math.max(...signed)]);
});

test("bits of a warp's lanes are combined", async () => {
  const words = Uint32Array.from({ length: 32 }, (_, i) => (((i + 1) * 0x9e3779b9) | 0x10000001) >>> 0);
  const body = (k: PtxEmitter): void => {
    const value = k.ld("u32", k.at("u32", k.pointer("x", "u32"), k.thread()));
    const results = (["and", "or", "xor"] as const).map((operation) => k.reduceLanes(operation, value));
    for (const [i, result] of results.entries()) k.if(k.compare("eq", k.thread(), i), () => k.st("u32", k.pointer("y", "u32"), result, i));
  };
  const y = await runOn(new Float32Array(words.buffer), body, { words: 3 });
  const want = [(a: number, b: number) => a & b, (a: number, b: number) => a | b, (a: number, b: number) => a ^ b].map(
    (of) => words.reduce(of) >>> 0,
  );
  expect([...new Uint32Array(y.buffer)]).toEqual(want);
});

test("a reduction that some lanes skip is a fault", async () => {
  const body = (k: PtxEmitter): void => k.if(k.compare("lt", k.thread(), 7), () => void k.reduceLanes("xor", k.thread()));
  await expect(runOn(Float32Array.of(0), body)).rejects.toThrow("not all lanes");
});

test("products of signed bytes are summed", async () => {
  const [a, b] = [Int8Array.of(-128, 127, 5, -3), Int8Array.of(-128, -1, 7, 100)];
  const words = [a, b].map((bytes) => new Uint32Array(bytes.buffer)[0]!);
  const body = (k: PtxEmitter): void => {
    const [x, y] = [k.constant("u32", words[0]!), k.constant("u32", words[1]!)];
    k.if(k.compare("eq", k.thread(), 0), () => k.st("i32", k.pointer("y", "i32"), k.dotBytes(x, y, -1000)));
  };
  const y = await runOn(Float32Array.of(0), body, { words: 1 });
  expect(new Int32Array(y.buffer)[0]).toBe(a.reduce((sum, each, i) => sum + each * b[i]!, -1000));
});

/** Stores matrices whose lane `l` has the words `4 l` and up, and loads them again. */
function storedMatrices(k: PtxEmitter, isWaiting = true): void {
  const row = k.sharedAtBytes<"u32">(k.sharedMemory("u32", 128), k.mul(k.thread(), 16));
  const word = (i: number) => k.mad(k.thread(), 4, i);
  k.storeMatrices(row, [word(0), word(1), word(2), word(3)]);
  if (isWaiting) k.syncWarp();
  // Row r of matrix m is where lane 8 m + r said.
  for (const [i, value] of k.ldVector("u32", row).entries()) k.st("u32", k.at("u32", k.pointer("y", "u32"), word(i)), value);
}

test("matrices are stored row by row, a word from each lane", async () => {
  const y = await runOn(Float32Array.of(0), storedMatrices, { words: 128, target: "sm_90" });
  const want = Array.from({ length: 128 }, (_, at) => {
    const [row, column] = [at >> 2, at & 3];
    return 4 * (4 * (row & 7) + column) + (row >> 3);
  });
  expect([...new Uint32Array(y.buffer)]).toEqual(want);
});

test("words of a stored matrix that are read without a barrier are a fault", async () => {
  await expect(runOn(Float32Array.of(0), (k) => storedMatrices(k, false), { words: 128, target: "sm_90" })).rejects.toThrow();
});

test("threads add to one number of global memory, which must have a value", async () => {
  const body = (k: PtxEmitter): void => {
    const counter = k.counters(1);
    k.addGlobal(counter, k.thread());
    k.sync();
    k.if(k.compare("eq", k.thread(), 0), () => k.st("u32", k.pointer("y", "u32"), k.countUp(counter)));
  };
  expect([...new Uint32Array((await runOn(Float32Array.of(0), body, { words: 1 })).buffer)]).toEqual([496]);
  const add = (k: PtxEmitter): void => k.addGlobal(k.pointer("y", "f32"), k.convert("f32", k.thread()));
  await expect(runOn(Float32Array.of(0), add, { words: 1 })).rejects.toThrow("unwritten");
});

test.skipIf(assembler === undefined)("ptxas assembles every instruction of it (needs ptxas)", async () => {
  const k = new PtxBuilder("all", ["y"], 32, "sm_90");
  const lane = k.thread();
  const sum = k.dotBytes(lane, k.reduceLanes("max", lane), k.reduceLanes("min", k.convert("i32", lane)));
  const row = k.sharedAtBytes<"u32">(k.sharedMemory("u32", 128), k.mul(lane, 16));
  k.storeMatrices(row, [lane, k.block("y"), k.blocks("z"), k.convert("u32", sum)]);
  k.storeMatrices(row, [k.reduceLanes("and", lane), k.reduceLanes("xor", k.reduceLanes("or", lane))]);
  k.addGlobal(k.pointer("y", "u32"), k.ld("u32", row));
  k.addGlobal(k.pointer("y", "f32"), k.constant("f32", 1));
  expect(await assemble({ ptx: k.text(), entry: k.entry, sharedBytes: 0 }, "sm_90")).toMatchObject({ said: undefined });
});

test("arguments that PTX would not take are typed errors", () => {
  expect(() => new PtxBuilder("my kernel", [], 32)).toThrow(ArgumentError);
  expect(() => new PtxBuilder("k", [], 33)).toThrow("PtxBuilder: expected blockThreads to be a multiple of 32 from 32 to 1024, got 33");
  expect(() => new PtxBuilder("k", ["a b"], 32)).toThrow(ArgumentError);
});
