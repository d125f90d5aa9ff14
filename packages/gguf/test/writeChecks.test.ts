import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test, vi } from "vitest";
import { ArgumentError, editMetadata, type GgufContent, GgufError, readGguf, splitContent, writeGguf } from "../src/index.ts";

const folder = mkdtempSync(join(tmpdir(), "gguf-checks-"));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, "m.gguf");

const key = (entry: object): unknown => ({ metadata: [{ key: "k", type: "u8", value: 1, ...entry }], tensors: [] });
const tensor = (more: object): unknown => ({
  metadata: [],
  tensors: [{ name: "t", type: "f32", shape: [2], data: new Uint8Array(8), ...more }],
});
const deep = (depth: number): unknown => (depth === 0 ? [true] : [deep(depth - 1)]);
const cyclic: unknown[] = [];
cyclic.push(cyclic);
const detached = new Float32Array(2);
structuredClone(detached, { transfer: [detached.buffer] });

const wrong: readonly [string, unknown][] = [
  ["no content", undefined],
  ["null", null],
  ["no metadata", { tensors: [] }],
  ["no tensors", { metadata: [] }],
  ["metadata that is a Map", { metadata: new Map(), tensors: [] }],
  ["version 1", { metadata: [], tensors: [], version: 1 }],
  ["another byte order", { metadata: [], tensors: [], byteOrder: "middle" }],
  ["an entry that is null", { metadata: [null], tensors: [] }],
  ["an unknown type", key({ type: "u99" })],
  ["a type that is a number", key({ type: 4 })],
  ["a name of Object.prototype as type", key({ type: "constructor" })],
  ["no type", key({ type: undefined })],
  ["an unknown element type", key({ type: "array", elementType: "u99", value: [1] })],
  ["a key that is a number", key({ key: 1 })],
  ["a key with a lone surrogate", key({ key: "a\ud800" })],
  ["an empty key", key({ key: "" })],
  ["a key of 65,536 bytes", key({ key: "k".repeat(65_536) })],
  ["a value too large", key({ value: 256 })],
  ["a bigint as u8", key({ value: 1n })],
  ["NaN as u8", key({ value: Number.NaN })],
  ["null", key({ value: null })],
  ["a symbol", key({ value: Symbol("s") })],
  ["an object", key({ value: {} })],
  ["undefined as f32", key({ type: "f32", value: undefined })],
  ["1e300 as f32", key({ type: "f32", value: 1e300 })],
  ["2^64 as u64", key({ type: "u64", value: 2n ** 64n })],
  ["a string with a lone surrogate", key({ type: "string", value: "a\ud800" })],
  ["null as string", key({ type: "string", value: null })],
  ["null as array", key({ type: "array", value: null })],
  ["an object as array", key({ type: "array", value: {} })],
  ["a string as array", key({ type: "array", elementType: "string", value: "abc" })],
  ["a DataView as array", key({ type: "array", elementType: "u8", value: new DataView(new ArrayBuffer(1)) })],
  ["an array of null", key({ type: "array", elementType: "string", value: [null] })],
  ["an array of arrays and null", key({ type: "array", elementType: "array", value: [null] })],
  ["arrays in arrays without end", key({ type: "array", elementType: "array", value: cyclic })],
  ["more arrays in arrays than are read", key({ type: "array", elementType: "array", value: deep(16) })],
  ["a detached array", key({ type: "array", elementType: "f32", value: detached })],
  ["a clamped array", key({ type: "array", elementType: "u8", value: new Uint8ClampedArray(1) })],
  ["an alignment of 0", key({ key: "general.alignment", type: "u32", value: 0 })],
  ["an alignment of 48", key({ key: "general.alignment", type: "u32", value: 48 })],
  ["an alignment as u64", key({ key: "general.alignment", type: "u64", value: 32 })],
  ["an alignment as string", key({ key: "general.alignment", type: "string", value: "32" })],
  ["a tensor that is null", { metadata: [], tensors: [null] }],
  ["an unknown tensor type", tensor({ type: "f99" })],
  ["a tensor type that is a number", tensor({ type: 0 })],
  ["a name of Object.prototype as tensor type", tensor({ type: "toString" })],
  ["a tensor without a name", tensor({ name: undefined })],
  ["a tensor name of 1,025 bytes", tensor({ name: "t".repeat(1_025) })],
  ["no shape", tensor({ shape: undefined })],
  ["a shape of strings", tensor({ shape: ["2"] })],
  ["a negative shape", tensor({ shape: [-2] })],
  ["a fractional shape", tensor({ shape: [0.5, 4] })],
  ["five dimensions", tensor({ shape: [1, 1, 1, 1, 2] })],
  ["more than 2^53 bytes", tensor({ shape: [2 ** 30, 2 ** 30], data: { read: () => expect.fail("it is read") } })],
  ["half a block", tensor({ type: "q8_0", shape: [16], data: new Uint8Array(17) })],
  ["too few bytes", tensor({ data: new Uint8Array(7) })],
  ["no data", tensor({ data: undefined })],
  ["data of another kind", tensor({ data: new Float32Array(2) })],
];

const isTyped = (error: unknown): boolean => error instanceof GgufError || error instanceof ArgumentError;

describe("writeGguf refuses what it cannot write before it creates a file", () => {
  test.each(wrong)("%s", async (_, content) => {
    const error: unknown = await writeGguf(path, content as GgufContent).catch((reason: unknown) => reason);
    expect(error).toSatisfy(isTyped);
    const sink = { write: vi.fn(async () => undefined) };
    await expect(writeGguf(sink, content as GgufContent)).rejects.toSatisfy(isTyped);
    expect(sink.write).not.toHaveBeenCalled();
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([undefined, null, "", 5, {}])("a target that is %j", async (target) => {
    await expect(writeGguf(target as string, { metadata: [], tensors: [] })).rejects.toBeInstanceOf(ArgumentError);
  });

  test.each(["https://user:hush@host/m.gguf?hush", "hf:o/r", "ftp://host/m.gguf"])(
    "a target that is not a file here is refused: %s",
    async (target) => {
      const refused = { code: "range", message: expect.not.stringContaining("hush") };
      await expect(writeGguf(target, { metadata: [], tensors: [] })).rejects.toMatchObject(refused);
      await expect(editMetadata(target, {})).rejects.toMatchObject(refused);
    },
  );
});

test("a file: URL is a path", async () => {
  const url = pathToFileURL(join(folder, "a b.gguf"));
  await writeGguf(url, { metadata: [], tensors: [] });
  await editMetadata(url.href, { set: [{ key: "k", type: "u8", value: 1 }] });
  await using file = await readGguf(url);
  expect(file.metadata.get("k")).toBe(1);
  rmSync(url);
});

test.each<[string, unknown[]]>([
  ["no target", [undefined, {}]],
  ["no edit", [path, undefined]],
  ["keys to set that are no list", [path, { set: { key: "k" } }]],
  ["keys to remove that are no list", [path, { remove: "k" }]],
  ["a key to remove that is null", [path, { remove: [null] }]],
])("editMetadata refuses %s", async (_, args) => {
  await writeGguf(path, { metadata: [], tensors: [] });
  await expect(editMetadata(...(args as Parameters<typeof editMetadata>))).rejects.toBeInstanceOf(ArgumentError);
  rmSync(path);
});

test("splitContent and editMetadata refuse the same", async () => {
  const content = tensor({ type: "f99" }) as GgufContent;
  expect(() => splitContent(content)).toThrow(ArgumentError);
  await writeGguf(path, tensor({}) as GgufContent);
  for (const [, wrongContent] of wrong) {
    const set = (wrongContent as GgufContent | undefined)?.metadata;
    if (!Array.isArray(set) || set.length === 0) continue;
    await expect(editMetadata(path, { set })).rejects.toSatisfy(isTyped);
  }
  await using file = await readGguf(path);
  expect([...file.metadata.keys()]).toEqual([]);
  await file.close();
  rmSync(path);
});

test("a failure while the tensors are written leaves nothing at the path", async () => {
  const read = async (offset: number): Promise<Uint8Array> => new Uint8Array(offset === 0 ? 4 : 3);
  const content = { metadata: [], tensors: [{ name: "t", type: "f32", shape: [2, 1], data: { read } }] } as const;
  await expect(writeGguf(path, content, { chunkBytes: 4 })).rejects.toThrow(/8 bytes of tensor 't' .*, got 7/);
  await expect(writeGguf(path, content, { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
  expect(existsSync(path)).toBe(false);
  expect(readdirSync(folder)).toEqual([]);
});
