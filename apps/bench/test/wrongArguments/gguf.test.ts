import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as gguf from "@centella/gguf";
import { type ByteSource, diskStorage, type GgufFile, readGguf, writeGguf } from "@centella/gguf";
import * as search from "@centella/gguf/search";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { callExports, callMethods, complaintsOf, excused, sampled } from "./harness.ts";
import { whole } from "./values.ts";

const { signal } = new AbortController();
const noop = (): void => undefined;
const sink = { write: async () => undefined };
const content: gguf.GgufContent = {
  version: 3,
  byteOrder: "little",
  metadata: [
    { key: "general.architecture", type: "string", value: "llama" },
    { key: "llama.block_count", type: "u32", value: 1 },
    { key: "llama.context_length", type: "u32", value: 8 },
    { key: "llama.embedding_length", type: "u32", value: 32 },
    { key: "llama.attention.head_count", type: "u32", value: 1 },
    { key: "tokens", type: "array", elementType: "string", value: ["a", "b"] },
    { key: "flags", type: "array", elementType: "bool", value: [true] },
    { key: "scores", type: "array", elementType: "f32", value: Float32Array.of(1, 2) },
    { key: "flag", type: "bool", value: true },
  ],
  tensors: [{ name: "blk.0.ffn_up.weight", type: "f32", shape: [2, 32], data: new Uint8Array(256) }],
};

let bytes: Uint8Array<ArrayBuffer>;
let file: GgufFile;
let folder: string;

beforeAll(async () => {
  // No call reaches a network, whatever it is given.
  vi.stubGlobal("fetch", fetched);
  folder = await mkdtemp(join(tmpdir(), "centella-"));
  // The default storage is not the user's.
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
  const pieces: Uint8Array[] = [];
  await writeGguf({ write: async (piece) => void pieces.push(piece.slice()) }, content);
  bytes = new Uint8Array(Buffer.concat(pieces));
  file = await readGguf(bytes);
});
afterAll(async () => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** The file on a server. */
const fetched = async (_: unknown, { headers = {} }: RequestInit = {}): Promise<Response> => {
  const range = /bytes=(\d+)-(\d*)/.exec(new Headers(headers).get("range") ?? "");
  if (range === null) return new Response(bytes, { headers: { "Content-Length": String(bytes.length) } });
  const [start, end] = [Number(range[1]), Math.min(bytes.length, Number(range[2] || Number.POSITIVE_INFINITY) + 1)];
  const headersOfPart = { "Content-Range": `bytes ${start}-${end - 1}/${bytes.length}`, ETag: '"1"' };
  return new Response(bytes.slice(start, end), { status: 206, headers: headersOfPart });
};

test("gguf: wrong arguments are typed errors", async () => {
  const storage = await diskStorage(join(folder, "models"));
  const source: ByteSource = {
    size: bytes.length,
    read: async (offset, length) => bytes.slice(offset, offset + length),
    close: async () => undefined,
  };
  const http = { fetch: fetched, retries: 0, backoffMs: 1, stallMs: 1000 };
  const strings = file.metadata.strings("tokens");
  await callExports("gguf", gguf, {
    GgufFile: excused("readGguf makes it"),
    Metadata: excused("readGguf makes it"),
    StringTable: excused("readGguf makes it"),
    absolutePlace: ["m.gguf"],
    contentOf: [whole(file)],
    defaultStorage: [],
    diskStorage: [folder],
    editMetadata: sampled(300, { ...source, write: async () => undefined }, { set: [content.metadata[1]], remove: [], signal }),
    estimateMemory: [whole(file), { contextLength: 4, sequences: 1, cacheType: "f16", weightBytes: () => 1 }],
    fileTypeById: [7],
    findPartial: [whole(storage), "m.gguf"],
    findStored: [whole(storage), "m.gguf"],
    formatInspect: [whole(gguf.inspect(file))],
    hasFileSystem: [],
    httpSource: sampled(300, "https://models.test/m.gguf", { ...http, headers: { A: "b" }, wholeBytes: 10_000, signal }),
    inspect: [whole(file)],
    isNumericArray: [new Uint8Array(1)],
    listModels: [whole(storage)],
    mergedContent: [content],
    openSource: [source, { signal }],
    opfsStorage: [{ name: "models", keys: noop, getFileHandle: noop, removeEntry: noop }],
    parseSplitName: ["m-00001-of-00002.gguf"],
    placeOf: ["m.gguf"],
    pull: sampled(300, "https://models.test/m.gguf", {
      ...http,
      storage,
      token: "t",
      endpoint: "https://hub.test",
      sha256: undefined,
      refresh: true,
      signal,
      onProgress: noop,
    }),
    quantizeGguf: excused("below: it writes files"),
    quantizePlan: [
      whole(file),
      "Q8_0",
      { pure: true, allowRequantize: true, imatrix: { entries: whole(new Map()), chunks: 1, datasets: [] } },
    ],
    readGguf: sampled(300, [source], { signal, cache: false, onDownload: noop }),
    readImatrix: excused("below: it needs a file of its own"),
    recipeOf: ["Q8_0"],
    removeModel: excused("below: it takes what is there away"),
    splitContent: [content, { maxTensors: 1, emptyFirst: true }],
    splitName: [{ prefix: "m", number: 1, count: 2 }],
    tensorTypes: [
      "Q8_0",
      { architecture: "llama", layers: 1, headsPerKv: 1, experts: 0 },
      [{ name: "blk.0.ffn_up.weight", type: "f32", shape: [2, 32] }],
      { pure: true, hasImatrix: false },
    ],
    writeGguf: excused("below: it writes files"),
    writeWholeFile: excused("below: it writes files"),
  });
  vi.stubGlobal("fetch", async () => Response.json([]));
  await callExports("gguf/search", search, {
    searchHub: sampled(300, "story", {
      retries: 0,
      backoffMs: 1,
      stallMs: 1000,
      token: "t",
      endpoint: "https://hub.test",
      signal,
      limit: 1,
    }),
  });
  vi.stubGlobal("fetch", fetched);
  // What would be a path is one in the test's folder.
  const inFolder = (target: unknown): gguf.ByteSink =>
    (typeof target === "string" && target !== "" ? join(folder, "out") : target) as gguf.ByteSink;
  const write = async ([target, ...rest]: readonly unknown[]): Promise<unknown> =>
    writeGguf(inFolder(target), ...(rest as [gguf.GgufContent, object]));
  expect(
    await complaintsOf(
      "gguf.writeGguf",
      write,
      sampled(1500, sink, content, { chunkBytes: 64, signal, onProgress: noop, overwrite: true }),
    ),
  ).toEqual([]);
  // The casts pass wrong values on purpose.
  const writeWhole = async ([target, ...rest]: readonly unknown[]): Promise<unknown> =>
    gguf.writeWholeFile(inFolder(target) as unknown as string, ...(rest as [() => Promise<void>, object]));
  expect(await complaintsOf("gguf.writeWholeFile", writeWhole, ["out", async () => undefined, { overwrite: true }])).toEqual([]);
  const quantize = async ([target, ...rest]: readonly unknown[]): Promise<unknown> =>
    gguf.quantizeGguf(inFolder(target), ...(rest as [GgufFile, "Q8_0", object]));
  expect(
    await complaintsOf(
      "gguf.quantizeGguf",
      quantize,
      sampled(200, sink, whole(file), "Q8_0", { threads: 1, signal, onProgress: noop, overwrite: true, pure: true, allowRequantize: true }),
    ),
  ).toEqual([]);
  const remove = async ([from, source]: readonly unknown[]): Promise<unknown> => {
    if (from === storage && source === "m.gguf") return undefined;
    return gguf.removeModel(from as typeof storage, source as string);
  };
  expect(await complaintsOf("gguf.removeModel", remove, [whole(storage), "m.gguf"])).toEqual([]);
  const asImatrix = async ([input, options]: readonly unknown[]): Promise<unknown> =>
    input === bytes && options === undefined ? undefined : gguf.readImatrix(input as typeof bytes, options as object);
  expect(await complaintsOf("gguf.readImatrix", asImatrix, [whole(bytes), undefined])).toEqual([]);
  await callMethods("strings", strings, { at: [0], bytes: [0], indexOf: ["a"], toArray: [] });
});

test("an open file: wrong arguments are typed errors", async () => {
  const name = content.tensors[0]!.name;
  const tensor = { ...file.tensors[0]! };
  await callMethods("file", file, {
    hasTensor: [name],
    tensor: [name],
    optionalTensor: [name],
    readTensor: [tensor, { offset: 0, length: 4, signal }],
    readTensorInto: [tensor, new Uint8Array(4), { offset: 0, signal }],
    readTensorChunks: [tensor, { chunkBytes: 64, signal }],
    readTensorF32: [tensor, { chunkBytes: 64, signal }],
    close: excused("takes nothing"),
  });
  await callMethods("metadata", file.metadata, {
    has: ["flag"],
    keys: [],
    entry: ["flag"],
    get: ["flag"],
    string: ["general.architecture"],
    optionalString: ["general.architecture"],
    number: ["llama.block_count"],
    optionalNumber: ["llama.block_count"],
    count: ["llama.block_count"],
    optionalCount: ["llama.block_count"],
    bool: ["flag"],
    optionalBool: ["flag"],
    strings: ["tokens"],
    optionalStrings: ["tokens"],
    numbers: ["scores"],
    optionalNumbers: ["scores"],
    bools: ["flags"],
    optionalBools: ["flags"],
  });
  const source = await gguf.openSource(bytes);
  await callMethods("source", source, { read: [0, 4, signal], close: [] });
});
