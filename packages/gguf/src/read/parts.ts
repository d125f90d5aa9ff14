import { GgufError } from "../errors.ts";
import type { GgufInput } from "../source/byteSource.ts";
import { locate } from "../source/locate.ts";
import type { LocateOptions } from "../source/locateOptions.ts";
import { isPlace, openSource } from "../source/source.ts";
import { readHeader } from "./header.ts";
import { closeAll, type OpenedParts, type Part, partCount } from "./part.ts";

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
    const sole = inputs.length === 1 ? inputs[0] : undefined;
    if (sole !== undefined) for (const path of siblings(sole, first.header)) opened.push(await openPart(path, true, signal));
    return { ...join(opened), warnings };
  } catch (error) {
    // Closes only what was opened here. A source that was passed in belongs to the caller.
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
