import { GgufError } from "./errors.ts";
import { type Header, readHeader } from "./header.ts";
import type { Metadata } from "./metadata.ts";
import { shown } from "./shown.ts";
import { type ByteSource, type GgufInput, openSource } from "./source.ts";
import { parseSplitName, splitKeys, splitName } from "./splitName.ts";
import type { TensorInfo } from "./tensorInfo.ts";

/** A file of one or more parts as if it were one. */
export interface OpenedParts {
  /** All parts, one behind the other. */
  readonly source: ByteSource;
  /** That of the first part, with the tensors of all; their offsets are within `source`. */
  readonly header: Header;
  readonly parts: number;
}

interface Part {
  readonly source: ByteSource;
  readonly header: Header;
  readonly isOwned: boolean;
}

/**
 * Opens a file and, where it is the first part of a split one, its other parts: found by name next to a path or URL, or given in a list
 * (in any order).
 * @throws {GgufError} `parts` if parts are missing, twice, or of different files
 */
export async function openParts(input: GgufInput | readonly GgufInput[], signal: AbortSignal | undefined): Promise<OpenedParts> {
  const inputs: readonly GgufInput[] = isList(input) ? input : [input];
  const opened: Part[] = [];
  try {
    for (const one of inputs) opened.push(await openPart(one, signal));
    const first = opened[0];
    if (first === undefined) throw new GgufError("parts", { expected: "the parts of a file", got: "an empty list" });
    if (inputs.length === 1) for (const path of siblings(inputs[0]!, first.header)) opened.push(await openPart(path, signal));
    return join(opened);
  } catch (error) {
    // Only what was opened here is closed; a source handed in stays its owner's.
    await closeAll(opened.filter(({ isOwned }) => isOwned));
    throw error;
  }
}

function isList(input: GgufInput | readonly GgufInput[]): input is readonly GgufInput[] {
  return Array.isArray(input);
}

async function openPart(input: GgufInput, signal: AbortSignal | undefined): Promise<Part> {
  const source = await openSource(input, signal === undefined ? {} : { signal });
  const isOwned = typeof input === "string" || input instanceof URL;
  try {
    return { source, header: await readHeader(source, signal), isOwned };
  } catch (error) {
    if (isOwned) await source.close?.();
    throw error;
  }
}

/** Names of the parts behind the first. */
function siblings(input: GgufInput, { metadata }: Header): (string | URL)[] {
  const count = partCount(metadata);
  if (count <= 1) return [];
  const number = metadata.count(splitKeys.no) + 1;
  const name = typeof input === "string" ? input : input instanceof URL ? input.pathname : undefined;
  const parsed = name === undefined ? undefined : parseSplitName(name);
  if (name === undefined) {
    const hint = "pass all parts in an array";
    throw new GgufError("parts", { expected: `all ${count} parts of a split file`, got: `part ${number} alone`, hint });
  }
  if (parsed?.count !== count || parsed.number !== number) {
    throw new GgufError("parts", {
      expected: `the name of part ${number} of ${count} to end in '${splitName({ prefix: "", number, count })}'`,
      got: `'${shown(name)}'`,
      hint: "rename the parts as llama.cpp names them, or pass all of them in an array",
    });
  }
  if (number !== 1) {
    const hint = `open '${shown(splitName({ ...parsed, number: 1 }))}'`;
    throw new GgufError("parts", { expected: "the first part of a split file", got: `part ${number} of ${count}`, hint });
  }
  return Array.from({ length: count - 1 }, (_, i) => {
    const path = splitName({ ...parsed, number: i + 2 });
    if (!(input instanceof URL)) return path;
    const url = new URL(input);
    url.pathname = path;
    return url;
  });
}

function partCount(metadata: Metadata): number {
  return metadata.optionalCount(splitKeys.count) ?? 0;
}

function join(opened: readonly Part[]): OpenedParts {
  const [first] = opened;
  if (opened.length === 1 && partCount(first!.header.metadata) <= 1) return { ...first!, parts: 1 };
  const parts = inOrder(opened);
  const { header } = parts[0]!;
  const names = new Set<string>();
  const tensors: TensorInfo[] = [];
  let base = 0;
  for (const part of parts) {
    if (part.header.byteOrder !== header.byteOrder) {
      throw new GgufError("parts", {
        expected: `every part ${header.byteOrder}-endian`,
        got: `one that is ${part.header.byteOrder}-endian`,
      });
    }
    for (const tensor of part.header.tensors) {
      if (names.has(tensor.name)) {
        throw new GgufError("duplicate", { expected: "every tensor in one part", got: `'${shown(tensor.name)}' in two` });
      }
      names.add(tensor.name);
      tensors.push({ ...tensor, offset: base + tensor.offset });
    }
    base += part.source.size;
  }
  const expected = header.metadata.optionalCount(splitKeys.tensors);
  if (expected !== undefined && expected !== tensors.length) {
    const hint = "the parts are of different files, or one is damaged";
    throw new GgufError("parts", { expected: `${expected} tensors in ${parts.length} parts`, got: String(tensors.length), hint });
  }
  return { source: concatenate(parts.map(({ source }) => source)), header: { ...header, tensors }, parts: parts.length };
}

/** The parts by their own numbers; each once. */
function inOrder(opened: readonly Part[]): readonly Part[] {
  const byNumber = new Map<number, Part>();
  const count = Math.max(...opened.map(({ header }) => partCount(header.metadata)));
  for (const part of opened) {
    const { metadata } = part.header;
    if (partCount(metadata) !== count) {
      throw new GgufError("parts", { expected: `parts of one file of ${count}`, got: `one of a file of ${partCount(metadata) || 1}` });
    }
    const number = metadata.count(splitKeys.no);
    if (byNumber.has(number)) throw new GgufError("parts", { expected: "every part once", got: `part ${number + 1} twice` });
    byNumber.set(number, part);
  }
  const missing = Array.from({ length: count }, (_, i) => i).filter((i) => !byNumber.has(i));
  if (missing.length > 0 || byNumber.size !== count) {
    throw new GgufError("parts", {
      expected: `all ${count} parts`,
      got: `${byNumber.size} without part ${missing
        .slice(0, 8)
        .map((i) => i + 1)
        .join(", ")}${missing.length > 8 ? " and more" : ""}`,
      hint: "pass every part",
    });
  }
  return [...byNumber.entries()].sort(([a], [b]) => a - b).map(([, part]) => part);
}

/** Sources one behind the other; a read lies within one of them, as a tensor does. */
function concatenate(sources: readonly ByteSource[]): ByteSource {
  const starts: number[] = [];
  let size = 0;
  for (const source of sources) {
    starts.push(size);
    size += source.size;
  }
  return {
    size,
    async read(offset, length, signal) {
      const index = Math.max(
        0,
        starts.findLastIndex((start) => start <= offset),
      );
      const within = offset - starts[index]!;
      const first = await sources[index]!.read(within, Math.min(length, sources[index]!.size - within), signal);
      if (first.length === length) return first;
      const bytes = new Uint8Array(length);
      bytes.set(first);
      bytes.set(await this.read(offset + first.length, length - first.length, signal), first.length);
      return bytes;
    },
    close: () => closeAll(sources.map((source) => ({ source }))),
  };
}

async function closeAll(parts: readonly { readonly source: ByteSource }[]): Promise<void> {
  await Promise.all(parts.map(({ source }) => source.close?.()));
}
