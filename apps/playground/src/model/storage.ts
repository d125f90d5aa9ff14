import { findPartial, findStored, type GgufInput, listModels, opfsStorage, removeModel, type StoredModel } from "@centella/gguf";
import type { ModelSource } from "./source.ts";

/** The complete models that this browser stores for the page. @throws {GgufError} `storage` in windows without one */
export async function storedModels(): Promise<readonly StoredModel[]> {
  return listModels(await opfsStorage());
}

/** Removes a model, and what is left of an interrupted download of it. */
export async function removeStored(source: string): Promise<void> {
  await removeModel(await opfsStorage(), source);
}

/** The stored file of a source, or the source itself if it is not stored. */
export async function storedInput(source: ModelSource): Promise<GgufInput> {
  if (typeof source !== "string") return source;
  try {
    const found = await findStored(await opfsStorage(), source);
    // The parts of a split model have one header, which is in the first.
    return [found?.input ?? source].flat()[0] as GgufInput;
  } catch {
    // Private windows may have no storage.
    return source;
  }
}

/** What is there of a model whose download was interrupted; its header may be part of it. */
export async function partialInput(source: ModelSource): Promise<GgufInput | undefined> {
  if (typeof source !== "string") return undefined;
  try {
    return await findPartial(await opfsStorage(), source);
  } catch {
    return undefined;
  }
}
