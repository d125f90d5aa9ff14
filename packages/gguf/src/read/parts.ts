import { GgufError } from "../errors.ts";
import { type LocateOptions, locate } from "../source/locate.ts";
import { type ByteSource, type GgufInput, isPlace, openSource } from "../source/source.ts";
import { splitKeys } from "../splitName.ts";
import { type Header, readHeader } from "./header.ts";
import type { Metadata } from "./metadata.ts";

/** A file of one or more parts as if it were one. */
export interface OpenedParts {
  /** All parts, one behind the other. */
  readonly source: ByteSource;
  /** That of the first part, with the tensors of all; their offsets are within `source`. */
  readonly header: Header;
  readonly parts: number;
  readonly warnings: readonly string[];
}

/** One part, open. */
export interface Part {
  readonly source: ByteSource;
  readonly header: Header;
  readonly isOwned: boolean;
}

/**
 * Opens a file and, where it is the first part of a split one, its other parts: found by name next to a path or URL, or given in a list
 * (in any order).
 * @throws {GgufError} `parts` if parts are missing, twice, or of different files
 */
export async function openParts(input: GgufInput | readonly GgufInput[], options: LocateOptions): Promise<OpenedParts> {
  const { signal } = options;
  const { inputs, warnings } = isList(input) ? { inputs: input, warnings: [] } : await locate(input, options);
  const isOpenedHere = (one: GgufInput): boolean => isPlace(one) || (!isList(input) && isPlace(input));
  const opened: Part[] = [];
  try {
    for (const one of inputs) opened.push(await openPart(one, isOpenedHere(one), signal));
    const first = opened[0];
    if (first === undefined) throw new GgufError("parts", { expected: "the parts of a file", got: "an empty list" });
    if (inputs.length === 1 && partCount(first.header.metadata) <= 1) return { ...first, parts: 1, warnings };
    const { join, siblings } = await import("./joinParts.ts");
    if (inputs.length === 1) for (const path of siblings(inputs[0]!, first.header)) opened.push(await openPart(path, true, signal));
    return { ...join(opened), warnings };
  } catch (error) {
    // Only what was opened here is closed; a source handed in stays its owner's.
    await closeAll(opened.filter(({ isOwned }) => isOwned));
    throw error;
  }
}

function isList(input: GgufInput | readonly GgufInput[]): input is readonly GgufInput[] {
  return Array.isArray(input);
}

async function openPart(input: GgufInput, isOwned: boolean, signal: AbortSignal | undefined): Promise<Part> {
  const source = await openSource(input, signal === undefined ? {} : { signal });
  try {
    return { source, header: await readHeader(source, signal), isOwned };
  } catch (error) {
    if (isOwned) await source.close?.();
    throw error;
  }
}

/** Parts that a file says it has, 0 where it says nothing. */
export function partCount(metadata: Metadata): number {
  return metadata.optionalCount(splitKeys.count) ?? 0;
}

/** Closes sources. */
export async function closeAll(parts: readonly { readonly source: ByteSource }[]): Promise<void> {
  await Promise.all(parts.map(({ source }) => source.close?.()));
}
