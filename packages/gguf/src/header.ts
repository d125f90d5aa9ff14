import { alignmentOf } from "./alignment.ts";
import type { ByteOrder } from "./byteOrder.ts";
import { Cursor } from "./cursor.ts";
import { GgufError } from "./errors.ts";
import { limits } from "./limits.ts";
import { Metadata, type MetadataEntry } from "./metadata.ts";
import { shown } from "./shown.ts";
import type { ByteSource } from "./source.ts";
import { readTensorInfos, type TensorInfo } from "./tensorInfo.ts";
import { readArray, readCount, readName, readValue, readValueType } from "./values.ts";

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
  const magic = String.fromCharCode(...cursor.bytes(4));
  if (magic !== "GGUF") {
    throw new GgufError("not-gguf", {
      expected: "the bytes 'GGUF'",
      got: JSON.stringify(magic),
      offset: 0,
      hint: magicHints[magic] ?? "it is no GGUF file",
    });
  }
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

async function readMetadata(cursor: Cursor, count: number): Promise<Metadata> {
  const entries = new Map<string, MetadataEntry>();
  const budget = { nestedElements: limits.nestedElements };
  for (let i = 0; i < count; i++) {
    const offset = cursor.offset;
    const key = await readName(cursor, limits.keyBytes, `key ${i}`);
    if (entries.has(key)) throw new GgufError("duplicate", { expected: "every key once", got: `'${shown(key)}' twice`, offset });
    const what = `the value of '${shown(key)}'`;
    const type = await readValueType(cursor, `the type of '${shown(key)}'`);
    entries.set(
      key,
      type === "array"
        ? { key, type, ...(await readArray(cursor, what, budget)) }
        : { key, type, value: await readValue(cursor, type, what) },
    );
  }
  return new Metadata(entries);
}
