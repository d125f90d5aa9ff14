import { absolutePlace, defaultStorage, findStored, hasFileSystem, type ModelStorage, placeOf } from "@centella/gguf";
import type { LoadSource } from "@centella/llm/engine";

/** Whether a source is read from another machine. */
export function isRemote(source: LoadSource): boolean {
  return namesOf(source).some((name) => {
    const place = placeOf(name);
    return place.kind === "hub" || (place.kind === "url" && /^https?:$/.test(place.url.protocol));
  });
}

/** Whether all remote files of a source are in the storage that `loadModel` would use. */
export async function isStored(source: LoadSource, cache: boolean | ModelStorage | undefined): Promise<boolean> {
  const names = namesOf(source);
  // Node reads URLs without storing them, unless it is asked to.
  const isCached = cache ?? !(hasFileSystem() && names.some((name) => placeOf(name).kind === "url"));
  if (isCached === false) return false;
  try {
    const storage = isCached === true ? await defaultStorage() : isCached;
    const found = await Promise.all(names.map((name) => findStored(storage, absolutePlace(name))));
    return found.every((model) => model !== undefined);
  } catch {
    // In a private window there may be no storage.
    return false;
  }
}

/** The paths, URLs and references of a source. */
function namesOf(source: LoadSource): readonly (string | URL)[] {
  const all: readonly unknown[] = Array.isArray(source) ? source : [source];
  return all.filter((each) => typeof each === "string" || each instanceof URL);
}
