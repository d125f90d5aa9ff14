import { describe } from "@centella/quant/checks";
import { alignmentOf } from "../alignment.ts";
import type { ByteOrder } from "../byteOrder.ts";
import { GgufError } from "../errors.ts";
import { limits } from "../limits.ts";
import { shown } from "../shown.ts";
import type { ByteSource } from "../source/byteSource.ts";
import { readCount, scanArray, scanName, scanScalar, valueTypeHere } from "../values.ts";
import { Cursor } from "./cursor.ts";
import { Metadata } from "./metadata.ts";
import { MetadataTable } from "./metadataTable.ts";
import { readTensorInfos, type TensorInfo } from "./tensorInfo.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Everything in front of the tensor data. */
export interface Header {
  readonly version: number;
  /** Order of the bytes of a number, in the header and in the tensors. */
  readonly byteOrder: ByteOrder;
  readonly metadata: Metadata;
  readonly tensors: readonly TensorInfo[];
  /** `general.alignment`, or 32: tensors begin at multiples of it. */
  readonly alignment: number;
  /** Byte at which the tensor data begins. */
  readonly dataOffset: number;
}

/** Reads and checks the header. Layout: `docs/gguf.md` of ggml, versions 2 and 3 (they differ in nothing but that 3 allows big-endian). */
export async function readHeader(source: ByteSource, signal: AbortSignal | undefined): Promise<Header> {
  const cursor = new Cursor(source, signal);
  try {
    return await readFrom(cursor);
  } finally {
    await cursor.close();
  }
}

async function readFrom(cursor: Cursor): Promise<Header> {
  const version = await readVersion(cursor);
  // A tensor takes 8 + 1 bytes of name, 4 + 8 of dimensions or none, 4 of type and 8 of offset; a key 8 + 1 bytes, 4 of type and 1 of value.
  const tensorCount = await readCount(cursor, 25, limits.tensors, "tensors");
  const entryCount = await readCount(cursor, 14, limits.metadataEntries, "metadata keys");
  const metadata = await readMetadata(cursor, entryCount);
  const alignment = alignmentOf(metadata.entry("general.alignment"));
  const infos = await readTensorInfos(cursor, tensorCount, alignment);
  return { version, byteOrder: cursor.byteOrder, metadata, alignment, ...infos };
}

async function readVersion(cursor: Cursor): Promise<number> {
  if (cursor.remaining < 4) throw new GgufError("not-gguf", { expected: "a GGUF file", got: `${cursor.remaining} bytes`, offset: 0 });
  await cursor.need(4, "the magic");
  requireMagic(cursor.bytes(4));
  await cursor.need(4, "the version");
  const version = cursor.u32();
  if (version === 2 || version === 3) return version;
  const swapped = ((version << 24) | ((version & 0xff00) << 8) | ((version >>> 8) & 0xff00) | (version >>> 24)) >>> 0;
  if (swapped === 2 || swapped === 3) {
    cursor.byteOrder = "big";
    return swapped;
  }
  const hint =
    version === 1
      ? "convert the original model with a current llama.cpp"
      : version === 0
        ? "the file is damaged"
        : "a newer version of this library may read it";
  throw new GgufError("version", { expected: "GGUF version 2 or 3", got: `GGUF version ${version}`, offset: 4, hint });
}

/** @throws {GgufError} `not-gguf` unless a file that begins with these four bytes can be a GGUF file */
export function requireMagic(bytes: Uint8Array): void {
  const magic = String.fromCharCode(...bytes);
  if (magic === "GGUF") return;
  const hint = magicHints[magic] ?? "it is no GGUF file";
  throw new GgufError("not-gguf", { expected: "the bytes 'GGUF'", got: describe(magic), offset: 0, hint });
}

const oldFormat = "it is in a format from before GGUF; convert it with llama.cpp's scripts";
const magicHints: Readonly<Record<string, string>> = {
  lmgg: oldFormat,
  fmgg: oldFormat,
  tjgg: oldFormat,
  algg: oldFormat,
  vers: "it looks like a Git LFS pointer; download the file itself (git lfs pull)",
  "<!DO": "it looks like a web page; check the download's address",
  "<htm": "it looks like a web page; check the download's address",
  "PK\u0003\u0004": "it looks like a zip archive or PyTorch checkpoint; convert it with llama.cpp's convert_hf_to_gguf.py",
};

/** Checks all entries and notes where they begin; their values stay bytes until they are asked for. */
async function readMetadata(cursor: Cursor, count: number): Promise<Metadata> {
  const base = cursor.offset;
  const starts = new Uint32Array(count + 1);
  const budget = { nestedElements: limits.nestedElements };
  for (let i = 0; i < count; ) {
    // Scalars are gone through in memory, as many as there are: a header may have half a million.
    const array = await cursor.parse(() => {
      for (; i < count; i++) {
        cursor.mark();
        starts[i] = cursor.offset - base;
        const key = scanName(cursor, limits.keyBytes, () => `key ${i}`);
        const name = (): string => shown(decoder.decode(key));
        cursor.have(4, () => `the type of '${name()}'`);
        const type = valueTypeHere(cursor, () => `the type of '${name()}'`);
        if (type === "array") return name();
        scanScalar(cursor, type, () => `the value of '${name()}'`);
      }
      return undefined;
    });
    if (array === undefined) break;
    await scanArray(cursor, `the value of '${array}'`, budget);
    i++;
  }
  starts[count] = cursor.offset - base;
  return new Metadata(new MetadataTable(cursor.since(base), starts, cursor.byteOrder, base));
}
