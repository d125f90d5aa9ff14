import { describe, expect, test } from "vitest";
import { estimateMemory, GgufError, type GgufFile, readGguf } from "../src/index.ts";
import { type FileToWrite, writeGguf } from "./writer.ts";

type Entry = NonNullable<FileToWrite["metadata"]>[number];

const complete: readonly Entry[] = [
  ["general.architecture", "string", "llama"],
  ["llama.context_length", "u32", 128],
  ["llama.block_count", "u32", 2],
  ["llama.embedding_length", "u32", 32],
  ["llama.attention.head_count", "u32", 4],
];

const open = (...changed: readonly Entry[]): Promise<GgufFile> =>
  readGguf(
    writeGguf({
      metadata: [...complete.filter(([key]) => changed.every(([name]) => name !== key)), ...changed],
      tensors: ["blk.0.attn_q.weight", "blk.1.attn_q.weight"].map((name) => ({ name, type: "f32", shape: [32, 32] })),
    }),
  );

test("layers that run several times have a cache for each time", async () => {
  const file = await open(["llama.num_loops", "u32", 3]);
  expect(estimateMemory(file).cacheBytes).toBe(3 * estimateMemory(await open()).cacheBytes);
});

describe("hostile counts", () => {
  test("the file without them has an estimate", async () => {
    expect(estimateMemory(await open()).cacheBytes).toBe(128 * 2 * 64 * 2);
  });

  test.each([3, 200_000, 4_000_000, 1e9, 2 ** 32 - 1])("%d layers of two tensors", async (count) => {
    const file = await open(["llama.block_count", "u32", count]);
    expect(() => estimateMemory(file)).toThrow(GgufError);
    expect(() => estimateMemory(file)).toThrow(`at most as many layers as tensors (2) for key 'llama.block_count', got ${count}`);
  });

  test("2^53 - 1 layers", async () => {
    const file = await open(["llama.block_count", "u64", 2n ** 53n - 1n]);
    expect(() => estimateMemory(file)).toThrow("got 9007199254740991");
  });

  test("an array for the number of layers", async () => {
    const file = await open(["llama.block_count", "array", { of: "f32", values: [Number.POSITIVE_INFINITY] }]);
    expect(() => estimateMemory(file)).toThrow(/whole number >= 0 for key 'llama.block_count', got array of 1 f32/);
  });

  test.each([
    ["i32", [-1, 4]],
    ["f32", [Number.NaN, 4]],
    ["f32", [4, Number.POSITIVE_INFINITY]],
    ["f32", [0.5, 4]],
  ] as const)("heads of layers in %s: %j", async (of, values) => {
    const entry: Entry = ["llama.attention.head_count_kv", "array", { of, values }];
    const file = await open(entry);
    expect(() => estimateMemory(file)).toThrow(/whole numbers >= 0 in 'llama.attention.head_count_kv'/);
  });

  test("a million heads are no more than two layers have", async () => {
    const values = Array.from({ length: 1e6 }, () => 4);
    const file = await open(["llama.attention.head_count", "array", { of: "u32", values }]);
    expect(estimateMemory(file).cacheBytes).toBe(128 * 2 * 64 * 2);
  });

  test("more bytes than a number holds", async () => {
    const file = await open(["llama.attention.key_length", "u64", 2n ** 53n - 1n]);
    expect(() => estimateMemory(file)).toThrow(/fewer than 2\^53 bytes of weights and cache/);
  });
});
