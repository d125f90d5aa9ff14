import { CentellaError } from "@centella/quant";
import { elementAt } from "@centella/quant/checks";
import { GgufError } from "../errors.ts";
import { requestRange, versionChange } from "../http/http.ts";
import type { ByteSource, GgufInput } from "../source/byteSource.ts";
import type { Located, LocateOptions } from "../source/locateOptions.ts";
import type { Place } from "../source/place.ts";
import type { Downloaded } from "./download.ts";
import { isNode } from "./environment.ts";
import { defaultStorage, type PullOptions, pull, remoteFiles } from "./pull.ts";
import type { ModelStorage } from "./storage.ts";

/** Time limit of the request that checks a stored file, in ms. */
const checkMs = 5_000;

/** A URL or a model on a hub. */
type RemotePlace = Exclude<Place, { readonly kind: "path" }>;

/**
 * Returns the files of a model that is downloaded into a storage or found there. If the storage cannot be used, the files are read by
 * ranges instead, with a warning.
 * @throws {GgufError} as `pull`; the signal's reason
 */
export async function locateRemote(place: RemotePlace, options: LocateOptions): Promise<Located> {
  const { cache = true, signal } = options;
  if (cache === false) return readByRanges(place, signal);
  try {
    return { inputs: await storedFiles(place, cache, options), warnings: [] };
  } catch (error) {
    signal?.throwIfAborted();
    const warning = `the model is read from its server and not stored: ${whyNotStored(error)}`;
    return { ...(await readByRanges(place, signal)), warnings: [warning] };
  }
}

/**
 * Returns the model's files in the storage. They are downloaded if they are missing or have changed on the server. While another page or
 * process downloads them, this one waits.
 */
async function storedFiles(place: RemotePlace, cache: true | ModelStorage, options: LocateOptions): Promise<readonly GgufInput[]> {
  const { signal, onDownload } = options;
  const storage = cache === true ? await lastingStorage() : cache;
  const source = place.kind === "hub" ? place.reference : place.url;
  const pullOptions: PullOptions = {
    storage,
    wait: true,
    ...(signal && { signal }),
    onProgress: ({ done, total }) => onDownload?.(done, total),
  };
  const found = await pull(source, pullOptions);
  // In Node, a hub reference means the file that `pull` stored for it.
  if (!found.wasStored || (place.kind === "hub" && isNode())) return found.input;
  const first = elementAt(found.files, 0);
  const url = place.kind === "hub" ? new URL(first.url) : place.url;
  if (!(await hasChanged(url, first, signal))) return found.input;
  return (await pull(source, { ...pullOptions, refresh: true })).input;
}

/** Returns the default storage, and asks the browser not to clear it when space runs out. */
async function lastingStorage(): Promise<ModelStorage> {
  const storage = await defaultStorage();
  // Not awaited: the browser may ask its user, and the answer changes nothing here.
  if (!isNode()) void globalThis.navigator?.storage?.persist?.().catch(() => false);
  return storage;
}

/** Whether a stored file has changed on the server. False if the server cannot be reached. */
async function hasChanged(url: URL, { bytes, etag, lastModified }: Downloaded, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    const answer = await requestRange(url, { start: 0, end: 1 }, { stallMs: checkMs }, signal);
    await answer.response.body?.cancel();
    // Records of older releases have only the length.
    const version = etag === undefined && lastModified === undefined ? answer : { etag, lastModified };
    return versionChange({ etag: version.etag, lastModified: version.lastModified, total: bytes }, answer) !== undefined;
  } catch {
    signal?.throwIfAborted();
    return false;
  }
}

async function readByRanges(place: RemotePlace, signal: AbortSignal | undefined): Promise<Located> {
  if (place.kind === "url") return { inputs: [place.url], warnings: [] };
  const { files, httpFor } = await remoteFiles(place.reference, signal && { signal });
  const { httpSource } = await import("../http/httpSource.ts");
  const inputs: ByteSource[] = [];
  for (const { url } of files) inputs.push(await httpSource(url, { ...httpFor(url), ...(signal && { signal }) }));
  return { inputs, warnings: [] };
}

/** Returns why a readable model cannot be stored. @throws the error itself if it is about the model or the space for it */
function whyNotStored(error: unknown): string {
  if (!(error instanceof CentellaError)) return String(error);
  if (error.code === "storage" || error.code === "busy") return error.message;
  if (!(error instanceof GgufError) || error.code !== "quota") throw error;
  const { expected, got, cause } = error;
  const hint = "remove stored models (listModels, removeModel), or read the model without storing it (cache: false)";
  throw new GgufError("quota", { expected, got, hint, cause });
}
