import { abortSignal, check, checkOptions, type Kinds, kind, list, listOf, string } from "@centella/quant/checks";
import { aligned, alignmentOf } from "../alignment.ts";
import { GgufError } from "../errors.ts";
import { editableSource } from "../kinds.ts";
import { type Header, readHeader } from "../read/header.ts";
import { shown } from "../shown.ts";
import type { ByteSource } from "../source/byteSource.ts";
import { requireNodeModule } from "../source/nodeModule.ts";
import { isPlace, openSource } from "../source/source.ts";
import type { ByteSink } from "../write/byteSink.ts";
import { checkMetadata } from "../write/checkContent.ts";
import { encodeHeader, type WritableEntry } from "../write/encode.ts";
import { cannotWrite, diskPath, writeWholeFile } from "../write/wholeFile.ts";

/** A source that can also be written at any offset. */
export interface EditableSource extends ByteSource {
  write(offset: number, bytes: Uint8Array): Promise<void>;
}

/** Changes for {@link editMetadata}. */
export interface MetadataEdit {
  /** Entries to set. Existing keys keep their position; new keys are appended. */
  readonly set?: readonly WritableEntry[];
  /** Keys to remove. */
  readonly remove?: readonly string[];
  readonly signal?: AbortSignal;
}

const editTarget = kind("a path, a file: URL or an EditableSource", (value) => isPlace(value as string) || editableSource.accepts(value));
const editKinds: Kinds<MetadataEdit> = { set: list, remove: listOf("keys", string), signal: abortSignal };

/**
 * Changes metadata of a file. Its tensors are not changed.
 *
 * A file at a path or `file:` URL (Node) is complete at any moment, even if the process is killed. If all changed bytes are within one
 * page of 4,096 bytes, as for a number, one call writes them in place. Otherwise a new file replaces the old one in one step, which takes
 * the time and disk space of a copy.
 *
 * An `EditableSource` is written in place by one call of `write` with the bytes from the first to the last change. The header must still
 * end before the same multiple of the alignment. The source decides what an interruption leaves.
 * @throws {GgufError} `no-room` if the alignment would change, or if the header does not fit into a source, `missing` for a key to remove
 * that the file lacks, `invalid`, `io`; {ArgumentError} for arguments of the wrong types
 */
export async function editMetadata(target: string | URL | EditableSource, edit: MetadataEdit): Promise<void> {
  check("editMetadata", "target", target, editTarget);
  checkOptions("editMetadata", edit, editKinds);
  if (isPlace(target)) return editFile(diskPath(target), edit);
  const source = await openSource({ size: target.size, read: (offset, length) => target.read(offset, length, edit.signal) });
  const edited = await editHeader(source, edit);
  const { dataOffset, alignment } = edited.header;
  if (aligned(edited.bytes.length, alignment) !== dataOffset) {
    throw new GgufError("no-room", {
      expected: `a header of ${dataOffset - alignment + 1} to ${dataOffset} bytes, so that the tensors stay where they are`,
      got: String(edited.encodedBytes),
      hint: "write a new file",
    });
  }
  const change = changeOf(edited);
  edit.signal?.throwIfAborted();
  if (change.bytes.length > 0) await target.write(change.offset, change.bytes);
}

/** A kill cannot interrupt a write within a page: systems copy a page into their cache in one step. */
const pageBytes = 4_096;

/** Bytes read at a time while a file is copied. */
const copyBytes = 2 ** 22;

async function editFile(path: string, edit: MetadataEdit): Promise<void> {
  const source = await openSource(path);
  try {
    const edited = await editHeader(source, edit);
    const { offset, bytes } = changeOf(edited);
    const isWithinPage = Math.floor(offset / pageBytes) === Math.floor((offset + bytes.length - 1) / pageBytes);
    edit.signal?.throwIfAborted();
    if (edited.bytes.length !== edited.before.length || !isWithinPage) await replace(path, source, edited, edit.signal);
    else if (bytes.length > 0) await writeInPlace(path, { offset, bytes });
  } finally {
    await source.close?.();
  }
}

/** A header before and after an edit. */
interface EditedHeader {
  readonly header: Header;
  /** Its bytes with the padding after them, which may be missing in a file without tensors. */
  readonly before: Uint8Array;
  /** The new bytes with padding. */
  readonly bytes: Uint8Array;
  /** Number of new bytes without padding. */
  readonly encodedBytes: number;
}

async function editHeader(source: ByteSource, { set = [], remove = [], signal }: MetadataEdit): Promise<EditedHeader> {
  const header = await readHeader(source, signal);
  const entries = new Map<string, WritableEntry>([...header.metadata].map((entry) => [entry.key, entry]));
  for (const key of remove) {
    if (!entries.delete(key)) throw new GgufError("missing", { expected: `a key '${shown(key)}' to remove`, got: "no such key" });
  }
  checkMetadata("editMetadata", "set", set);
  for (const entry of set) entries.set(entry.key, entry);
  const alignment = alignmentOf(entries.get("general.alignment"));
  if (alignment !== header.alignment) {
    const hint = "write a new file";
    throw new GgufError("no-room", { expected: `the alignment to stay ${header.alignment}`, got: String(alignment), hint });
  }
  const tensors = header.tensors.map((tensor) => ({ ...tensor, offset: tensor.offset - header.dataOffset }));
  const encoded = encodeHeader({ version: header.version, byteOrder: header.byteOrder, metadata: [...entries.values()], tensors });
  const before = await source.read(0, Math.min(header.dataOffset, source.size), signal);
  const bytes = new Uint8Array(before.length < header.dataOffset ? encoded.length : aligned(encoded.length, alignment));
  bytes.set(encoded);
  return { header, before, bytes, encodedBytes: encoded.length };
}

/** Bytes to write at an offset. */
interface Change {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** Returns the bytes from the first to the last change. A shorter header is padded with zeros. */
function changeOf({ before, bytes }: EditedHeader): Change {
  const after = new Uint8Array(Math.max(before.length, bytes.length));
  after.set(bytes);
  let [first, end] = [0, after.length];
  while (first < end && after[first] === before[first]) first++;
  while (end > first && after[end - 1] === before[end - 1]) end--;
  return { offset: first, bytes: after.subarray(first, end) };
}

/** Replaces the file at `path` by a new file with the edited header. */
async function replace(path: string, source: ByteSource, { before, bytes }: EditedHeader, signal: AbortSignal | undefined): Promise<void> {
  const write = async (sink: ByteSink): Promise<void> => {
    await sink.write(bytes);
    for (let at = before.length; at < source.size; at += copyBytes) {
      await sink.write(await source.read(at, Math.min(copyBytes, source.size - at), signal));
    }
    // Windows cannot replace an open file.
    await source.close?.();
  };
  await writeWholeFile(path, write, { overwrite: true });
}

async function writeInPlace(path: string, { offset, bytes }: Change): Promise<void> {
  const { open } = requireNodeModule("node:fs/promises", path);
  try {
    const handle = await open(path, "r+");
    try {
      await handle.write(bytes, 0, bytes.length, offset);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}
