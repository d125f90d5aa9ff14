import { estimateMemory, type GgufFile, type GgufInput, hasFileSystem, type MemoryEstimate, placeOf } from "@centella/gguf";
import type { LoadSource } from "../engine/engineModel.ts";
import { defaultLimit } from "../load/contextSize.ts";
import { openModelFile } from "../load/modelFiles.ts";
import type { ModelStoreOptions } from "./storeOptions.ts";

/**
 * Estimates a model's memory from the header of its file, if the file is on this machine. Returns undefined otherwise, for the context
 * "auto", and for files that cannot be read: loading them reports why.
 */
export async function estimateOf(source: LoadSource, options: ModelStoreOptions, signal: AbortSignal): Promise<MemoryEstimate | undefined> {
  const inputs = Array.isArray(source) ? (source as readonly GgufInput[]) : [source as GgufInput];
  const { contextLength, sequences = 1, cacheType = "f16" } = options;
  if (contextLength === "auto" || !inputs.every(isHere)) return undefined;
  try {
    const { file, close } = await openModelFile(source, { signal });
    try {
      return estimateMemory(file, { contextLength: contextLength ?? defaultContextOf(file), sequences, cacheType });
    } finally {
      await close();
    }
  } catch {
    return undefined;
  }
}

function isHere(input: GgufInput): boolean {
  const isPlace = typeof input === "string" || input instanceof URL;
  return !isPlace || (hasFileSystem() && placeOf(input).kind === "path");
}

function defaultContextOf({ metadata }: GgufFile): number {
  return Math.min(defaultLimit, metadata.count(`${metadata.string("general.architecture")}.context_length`));
}
