import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { type ByteSource, GgufError, readGguf } from "../src/index.ts";
import { type ArrayValue, everything, Writer, writeGguf } from "./writer.ts";

/** A valid start with these counts; what follows is the test's. */
function start(tensors: number | bigint, keys: number | bigint): Writer {
  return new Writer().bytes([0x47, 0x47, 0x55, 0x46]).u32(3).u64(tensors).u64(keys);
}

const padding = new Uint8Array(400);

/** A source that claims to be huge and gives zeros behind `head`; records what was read. */
function hugeSource(head: Uint8Array, size = 2 ** 45): ByteSource & { bytesRead: number } {
  return {
    size,
    bytesRead: 0,
    async read(offset, length) {
      this.bytesRead += length;
      const bytes = new Uint8Array(length);
      if (offset < head.length) bytes.set(head.subarray(offset, offset + length));
      return bytes;
    },
  };
}

describe("refuses with a reason", () => {
  const cases: readonly (readonly [title: string, bytes: Uint8Array, code: string, message: RegExp])[] = [
    ["no file at all", new Uint8Array(0), "not-gguf", /expected a GGUF file, got 0 bytes/],
    ["another magic", new TextEncoder().encode("PK\u0003\u0004 and so on"), "not-gguf", /at byte 0; .*zip/],
    ["a Git LFS pointer", new TextEncoder().encode("version https://git-lfs.github.com/spec/v1"), "not-gguf", /Git LFS pointer/],
    ["the format before GGUF", new TextEncoder().encode("lmgg0000"), "not-gguf", /before GGUF/],
    ["version 1", writeGguf({ version: 1 }), "version", /GGUF version 1 at byte 4; convert/],
    ["version 0", writeGguf({ version: 0 }), "version", /version 0/],
    ["version 4", writeGguf({ version: 4 }), "version", /version 4 .*newer/],
    [
      "2^64 - 1 tensors",
      start(2n ** 64n - 1n, 0).done(),
      "truncated",
      /18446744073709551615 tensors .* got 8 bytes to the end of the file at byte 16/,
    ],
    ["2^60 keys", start(0, 2n ** 60n).done(), "truncated", /1152921504606846976 metadata keys/],
    [
      "a key of 2^62 bytes",
      start(0, 1)
        .u64(2n ** 62n)
        .bytes(padding)
        .done(),
      "truncated",
      /4611686018427387904 bytes of key 0/,
    ],
    [
      "a string of 2^63 bytes",
      start(0, 1)
        .string("k")
        .u32(8)
        .u64(2n ** 63n)
        .done(),
      "truncated",
      /value of 'k'.*at byte 45/,
    ],
    [
      "an array of 2^61 numbers",
      start(0, 1)
        .string("k")
        .u32(9)
        .u32(4)
        .u64(2n ** 61n)
        .done(),
      "truncated",
      /elements of the value of 'k'/,
    ],
    [
      "an array of 2^40 strings",
      start(0, 1)
        .string("k")
        .u32(9)
        .u32(8)
        .u64(2n ** 40n)
        .done(),
      "truncated",
      /1099511627776 elements/,
    ],
    [
      "a string in an array of 2^64 - 1 bytes",
      start(0, 1)
        .string("k")
        .u32(9)
        .u32(8)
        .u64(1)
        .u64(2n ** 64n - 1n)
        .done(),
      "truncated",
      /string 0 of/,
    ],
    ["value type 13", start(0, 1).string("k").u32(13).bytes(padding).done(), "invalid", /type of 'k' from 0 to 12, got 13/],
    ["element type 99", start(0, 1).string("k").u32(9).u32(99).bytes(padding).done(), "invalid", /element type .* got 99/],
    ["a bool of 2", start(0, 1).string("k").u32(7).bytes([2]).done(), "invalid", /0 or 1 for the value of 'k', got 2/],
    ["an empty key", start(0, 1).string("").u32(4).u32(1).bytes(padding).done(), "invalid", /empty/],
    ["a key that is no UTF-8", start(0, 1).u64(1).bytes([0xff]).u32(4).u32(1).done(), "invalid", /UTF-8/],
    [
      "a key twice",
      writeGguf({
        metadata: [
          ["k", "u8", 1],
          ["k", "u8", 2],
        ],
      }),
      "duplicate",
      /'k' twice/,
    ],
    ["an alignment of 0", writeGguf({ metadata: [["general.alignment", "u32", 0]] }), "invalid", /power of two .* got u32 0/],
    ["an alignment of 48", writeGguf({ metadata: [["general.alignment", "u32", 48]] }), "invalid", /got u32 48/],
    ["an alignment in text", writeGguf({ metadata: [["general.alignment", "string", "32"]] }), "invalid", /got string/],
    [
      "a tensor twice",
      writeGguf({
        tensors: [
          { name: "t", type: "f32", shape: [1] },
          { name: "t", type: "f32", shape: [1] },
        ],
      }),
      "duplicate",
      /'t' twice/,
    ],
    [
      "5 dimensions",
      writeGguf({ tensors: [{ name: "t", type: "f32", shape: [1, 1, 1, 1, 1] }] }),
      "invalid",
      /at most 4 dimensions of tensor 't', got 5/,
    ],
    [
      "2^32 - 1 dimensions",
      start(1, 0)
        .string("t")
        .u32(2 ** 32 - 1)
        .bytes(padding)
        .done(),
      "invalid",
      /got 4294967295/,
    ],
    [
      "a size of 2^64 - 1",
      start(1, 0)
        .string("t")
        .u32(1)
        .u64(2n ** 64n - 1n)
        .u32(0)
        .u64(0)
        .done(),
      "invalid",
      /2\^50 elements in tensor 't'/,
    ],
    [
      "sizes whose product wraps to 0",
      start(1, 0)
        .string("t")
        .u32(2)
        .u64(2n ** 32n)
        .u64(2n ** 32n)
        .u32(0)
        .u64(0)
        .done(),
      "invalid",
      /2\^50/,
    ],
    [
      "a row of half a block",
      start(1, 0).string("t").u32(1).u64(16).u32(8).u64(0).bytes(padding).done(),
      "invalid",
      /multiple of 32 .*\(q8_0\), got 16/,
    ],
    [
      "an unknown tensor type",
      start(1, 0).string("t").u32(1).u64(32).u32(200).u64(0).bytes(padding).done(),
      "unknown-type",
      /type for tensor 't', got 200/,
    ],
    [
      "a withdrawn tensor type",
      start(1, 0).string("t").u32(1).u64(32).u32(31).u64(0).bytes(padding).done(),
      "unknown-type",
      /31 \(q4_0_4_4\).*withdrawn/,
    ],
    [
      "a crooked tensor offset",
      start(1, 0).string("t").u32(1).u64(1).u32(0).u64(4).bytes(padding).done(),
      "invalid",
      /multiple of 32 as the offset of tensor 't', got 4/,
    ],
    [
      "a tensor behind the end",
      start(1, 0)
        .string("t")
        .u32(1)
        .u64(1)
        .u32(0)
        .u64(2n ** 62n)
        .bytes(padding)
        .done(),
      "truncated",
      /4 bytes of tensor 't', got 0, the file ends at byte 457/,
    ],
    [
      "a tensor cut short",
      writeGguf({ tensors: [{ name: "blk.0", type: "f32", shape: [8] }] }).slice(0, -1),
      "truncated",
      /expected 32 bytes of tensor 'blk.0', got 31, .*truncated file/,
    ],
  ];
  test.each(cases)("%s", async (_title, bytes, code, message) => {
    const error = await readGguf(bytes).then(
      () => expect.fail("was read"),
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(GgufError);
    expect(error).toMatchObject({ code });
    expect((error as GgufError).message).toMatch(message);
    expect((error as GgufError).message).toMatch(/^gguf: /);
  });
});

describe("in files that are really large, bounds keep the header small", () => {
  const cases: readonly (readonly [title: string, head: Uint8Array])[] = [
    ["2^21 tensors", start(2 ** 21, 0).done()],
    ["2^23 keys", start(0, 2 ** 23).done()],
    [
      "a key of 2^16 bytes",
      start(0, 1)
        .u64(2 ** 16)
        .done(),
    ],
    [
      "a string of 2^29 bytes",
      start(0, 1)
        .string("k")
        .u32(8)
        .u64(2 ** 29)
        .done(),
    ],
    [
      "2^30 numbers",
      start(0, 1)
        .string("k")
        .u32(9)
        .u32(4)
        .u64(2 ** 30)
        .done(),
    ],
    [
      "2^27 strings",
      start(0, 1)
        .string("k")
        .u32(9)
        .u32(8)
        .u64(2 ** 27)
        .done(),
    ],
    [
      "2^21 truth values",
      start(0, 1)
        .string("k")
        .u32(9)
        .u32(7)
        .u64(2 ** 21)
        .done(),
    ],
    [
      "2^21 arrays",
      start(0, 1)
        .string("k")
        .u32(9)
        .u32(9)
        .u64(2 ** 21)
        .done(),
    ],
    [
      "a name of 2^11 bytes",
      start(1, 0)
        .u64(2 ** 11)
        .done(),
    ],
  ];
  test.each(cases)("%s", async (_title, head) => {
    const source = hugeSource(head);
    await expect(readGguf(source)).rejects.toMatchObject({ name: "GgufError", code: "limit" });
    expect(source.bytesRead).toBeLessThanOrEqual(2 ** 16);
  });

  test("truth values are counted over all keys", async () => {
    const many = { of: "bool", values: Array.from({ length: 80_000 }, () => true) } as const;
    const bytes = writeGguf({
      metadata: [
        ["a", "array", many],
        ["b", "array", many],
      ],
    });
    await expect(readGguf(bytes)).rejects.toMatchObject({ code: "limit" });
  });

  test("a large tensor is not read", async () => {
    const head = start(1, 0)
      .string("t")
      .u32(1)
      .u64(2 ** 40)
      .u32(0)
      .u64(0)
      .done();
    const source = hugeSource(head);
    const file = await readGguf(source);
    expect(file.tensor("t").bytes).toBe(2 ** 42);
    expect(source.bytesRead).toBeLessThanOrEqual(2 ** 16);
  });
});

/** `count` keys with a value of one byte each, in as few bytes as GGUF takes. */
function manyKeys(count: number, key: (i: number) => string = (i) => `k${i}`): Uint8Array {
  const entries = Buffer.alloc(count * 32);
  let at = 0;
  for (let i = 0; i < count; i++) {
    const length = entries.write(key(i), at + 8);
    entries.writeBigUInt64LE(BigInt(length), at);
    entries[at + 8 + length + 4] = i & 255;
    at += 13 + length;
  }
  return Buffer.concat([start(0, count).done(), entries.subarray(0, at)]);
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function memoryAfterCollection(): NodeJS.MemoryUsage {
  // A collection by itself leaves what its finalizers release.
  collect();
  collect();
  return process.memoryUsage();
}

describe("half a million keys", () => {
  const bytes = manyKeys(500_000);

  test("are found by name, in order, and cost little more than their bytes", async () => {
    const source = { size: bytes.length, read: async (offset: number, length: number) => bytes.subarray(offset, offset + length) };
    const before = memoryAfterCollection();
    const file = await readGguf(source);
    const after = memoryAfterCollection();
    expect(file.metadata.size).toBe(500_000);
    expect(file.metadata.get("k499999")).toBe(499_999 & 255);
    expect(file.metadata.has("k500000")).toBe(false);
    expect([...file.metadata.keys()].slice(-2)).toEqual(["k499998", "k499999"]);
    // Objects for them, a Map for example, would take some 80 MB.
    const grown = after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers;
    expect(grown).toBeLessThan(2 * bytes.length + 2 ** 24);
  });

  test("one of them twice is an error", async () => {
    const twice = manyKeys(500_000, (i) => `k${i === 499_999 ? 7 : i}`);
    await expect(readGguf(twice)).rejects.toMatchObject({ code: "duplicate", message: expect.stringMatching(/'k7' twice/) });
  });
});

test("16 arrays within one another are read, 17 are not", async () => {
  const nest = (depth: number): ArrayValue => (depth === 1 ? { of: "u8", values: [7] } : { of: "array", values: [nest(depth - 1)] });
  await readGguf(writeGguf({ metadata: [["deep", "array", nest(16)]] }));
  await expect(readGguf(writeGguf({ metadata: [["deep", "array", nest(17)]] }))).rejects.toMatchObject({ code: "limit" });
  await expect(readGguf(writeGguf({ metadata: [["deep", "array", nest(2000)]] }))).rejects.toMatchObject({ code: "limit" });
});

test("a file cut at any byte is a GgufError", async () => {
  const bytes = writeGguf({ ...everything, tensors: everything.tensors!.slice(0, 4) });
  for (let length = 0; length < bytes.length; length++) {
    const error = await readGguf(bytes.subarray(0, length)).then(
      () => `read although cut at ${length}`,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(GgufError);
  }
  await readGguf(bytes);
});
