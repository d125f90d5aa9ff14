import { type GgufFile, type InspectReport, inspect, readGguf } from "@centella/gguf";
import type { ModelSource } from "../model/source.ts";
import { storedInput } from "../model/storage.ts";

/** A file whose header was read. */
export interface OpenedFile {
  readonly file: GgufFile;
  readonly report: InspectReport;
}

/** Opens a file. The caller closes it. @throws {GgufError} */
export async function openFile(source: ModelSource, signal: AbortSignal): Promise<OpenedFile> {
  const file = await readGguf(await storedInput(source), { cache: false, signal });
  return { file, report: inspect(file) };
}
