import { aligned, alignmentOf } from "./alignment.ts";
import { encodeHeader, type WritableEntry } from "./encode.ts";
import { GgufError } from "./errors.ts";
import { readHeader } from "./header.ts";
import { requireNodeModule } from "./nodeModule.ts";
import { type ByteSource, openSource } from "./source.ts";

/** A source that can also be written at any place. */
export interface EditableSource extends ByteSource {
  write(offset: number, bytes: Uint8Array): Promise<void>;
}

export interface MetadataEdit {
  /** Keys to set: those that are there keep their place, others go to the end. */
  readonly set?: readonly WritableEntry[];
  /** Keys to drop. */
  readonly remove?: readonly string[];
  readonly signal?: AbortSignal;
}

/**
 * Changes metadata without moving the tensors, if the header still ends before the same multiple of the alignment: numbers always do,
 * strings and new keys where the padding leaves room. The header is written in one piece; nothing else is touched.
 *
 * `target` is a path (Node) or a source with `write`.
 * @throws {GgufError} `no-room` if it does not fit (write a new file then), `missing` for a key to drop, `invalid`
 */
export async function editMetadata(target: string | EditableSource, edit: MetadataEdit): Promise<void> {
  if (typeof target !== "string") return editSource(target, edit);
  const editable = await openEditable(target);
  try {
    await editSource(editable, edit);
  } finally {
    await editable.close?.();
  }
}

async function editSource(target: EditableSource, { set = [], remove = [], signal }: MetadataEdit): Promise<void> {
  const source = await openSource({ size: target.size, read: (offset, length) => target.read(offset, length, signal) });
  const header = await readHeader(source, signal);
  const entries = new Map<string, WritableEntry>([...header.metadata].map((entry) => [entry.key, entry]));
  for (const key of remove) {
    if (!entries.delete(key)) throw new GgufError("missing", { expected: `a key '${key}' to remove`, got: "no such key" });
  }
  for (const entry of set) entries.set(entry.key, entry);
  const alignment = alignmentOf(entries.get("general.alignment"));
  if (alignment !== header.alignment) {
    const hint = "write a new file";
    throw new GgufError("no-room", { expected: `the alignment to stay ${header.alignment}`, got: String(alignment), hint });
  }
  const tensors = header.tensors.map((tensor) => ({ ...tensor, offset: tensor.offset - header.dataOffset }));
  const bytes = encodeHeader({ version: header.version, byteOrder: header.byteOrder, metadata: [...entries.values()], tensors });
  if (aligned(bytes.length, alignment) !== header.dataOffset) {
    const least = header.dataOffset - alignment + 1;
    throw new GgufError("no-room", {
      expected: `a header of ${least} to ${header.dataOffset} bytes, so that the tensors stay where they are`,
      got: String(bytes.length),
      hint: "write a new file",
    });
  }
  signal?.throwIfAborted();
  const padded = new Uint8Array(Math.min(header.dataOffset, Math.max(target.size, bytes.length)));
  padded.set(bytes);
  await target.write(0, padded);
}

async function openEditable(path: string): Promise<EditableSource> {
  const { open } = requireNodeModule("node:fs/promises", path);
  const source = await openSource(path);
  const handle = await open(path, "r+").catch(async (cause: unknown) => {
    await source.close?.();
    throw new GgufError("io", { expected: `'${path}' to be writable`, got: cause instanceof Error ? cause.message : String(cause), cause });
  });
  return {
    size: source.size,
    read: source.read,
    async write(offset, bytes) {
      let done = 0;
      while (done < bytes.length) done += (await handle.write(bytes, done, bytes.length - done, offset + done)).bytesWritten;
      await handle.sync();
    },
    async close() {
      await source.close?.();
      await handle.close();
    },
  };
}
