import { estimateMemory, type GgufFile, inspect, type MemoryEstimate, readGguf } from "@centella/gguf";
import { architectureStatus } from "@centella/llm";
import type { ModelSource } from "./source.ts";
import { partialInput, storedInput } from "./storage.ts";

/** What the header of a file says about the model, before anything else is read. */
export interface Plan {
  readonly name: string | null;
  readonly architecture: string | null;
  /** Whether the engine runs the architecture. */
  readonly isSupported: boolean;
  readonly quantization: string | undefined;
  readonly parameters: number;
  readonly fileBytes: number;
  readonly isStored: boolean;
  /** Bytes that the browser lets the page store; undefined if it does not say. */
  readonly freeBytes: number | undefined;
  /** Longest context that the model was trained for. */
  readonly trainedContext: number | undefined;
  /** Memory with a context of this length; undefined for models without heads. */
  estimate(contextLength: number): MemoryEstimate | undefined;
}

/**
 * Reads the header of a file, from a server by a few requests of ranges.
 * @throws {GgufError} for what is no GGUF file, or cannot be read
 */
export async function readPlan(source: ModelSource, signal: AbortSignal): Promise<Plan> {
  const input = await storedInput(source);
  const isStored = typeof input !== "string";
  const file = (isStored ? undefined : await readPartial(source, signal)) ?? (await readGguf(input, { cache: false, signal }));
  try {
    const { name, architecture, fileType, parameters, fileBytes } = inspect(file);
    return {
      name,
      architecture,
      isSupported: architecture !== null && architectureStatus(architecture) !== undefined,
      quantization: fileType?.name,
      parameters,
      fileBytes,
      isStored,
      freeBytes: await freeBytes(),
      trainedContext: architecture === null ? undefined : file.metadata.optionalNumber(`${architecture}.context_length`),
      estimate: (contextLength) => estimateOrNone(file, contextLength),
    };
  } finally {
    // The header stays.
    await file.close();
  }
}

/** Reads the header from the beginning of an interrupted download, if it is there as a whole. */
async function readPartial(source: ModelSource, signal: AbortSignal): Promise<GgufFile | undefined> {
  const partial = await partialInput(source);
  return partial === undefined ? undefined : readGguf(partial, { signal }).catch(() => undefined);
}

function estimateOrNone(file: GgufFile, contextLength: number): MemoryEstimate | undefined {
  try {
    return estimateMemory(file, { contextLength });
  } catch {
    return undefined;
  }
}

/** Space that the browser offers to this page, if it says so. */
export async function freeBytes(): Promise<number | undefined> {
  const { quota, usage } = (await navigator.storage?.estimate?.().catch(() => undefined)) ?? {};
  return quota === undefined || usage === undefined ? undefined : quota - usage;
}
