import type { ByteSource } from "../source/byteSource.ts";
import { splitKeys } from "../splitName.ts";
import type { Header } from "./header.ts";
import type { Metadata } from "./metadata.ts";

/** A file of one or more parts as if it were one. */
export interface OpenedParts {
  /** All parts, concatenated. */
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

/** Parts that a file says it has, 0 where it says nothing. */
export function partCount(metadata: Metadata): number {
  return metadata.optionalCount(splitKeys.count) ?? 0;
}

/** Closes sources. */
export async function closeAll(parts: readonly { readonly source: ByteSource }[]): Promise<void> {
  await Promise.all(parts.map(({ source }) => source.close?.()));
}
