import { abortSignal, boolean, callback, check, checkOptions, elementAt, type Kinds, string } from "@centella/quant/checks";
import { GgufError } from "../errors.ts";
import type { HttpOptions } from "../http/request.ts";
import { shownUrl } from "../http/secrets.ts";
import { httpKinds, modelStorage, url } from "../kinds.ts";
import type { ByteSource, GgufInput } from "../source/byteSource.ts";
import { isHttp, type Place, placeOf } from "../source/place.ts";
import { parseSplitName, splitName } from "../splitName.ts";
import { type Downloaded, download, type FileBytes, linkedFile, openPartial, parseDownloaded } from "./download.ts";
import { isNode } from "./environment.ts";
import { digestOf, parseHubSpec, type RemoteFile, resolveHubSpec } from "./hub.ts";
import { endpointOf, type HubOptions, hubRequest } from "./hubRequest.ts";
import { lockModel, lockModelWhenFree } from "./modelLock.ts";
import { nameOfUrl, recordUrl } from "./names.ts";
import { opfsStorage } from "./opfsStorage.ts";
import { readRecord, writeRecord } from "./record.ts";
import type { ModelStorage } from "./storage.ts";

/** Progress of a pull, in bytes over all files of the model. */
export interface PullProgress {
  readonly name: string;
  readonly done: number;
  /** Undefined while the total is unknown. */
  readonly total: number | undefined;
}

export interface PullOptions extends HubOptions {
  /** Default: `diskStorage()` in Node, `opfsStorage()` in browsers. */
  readonly storage?: ModelStorage;
  /** URL of the hub. Default: the environment variable `HF_ENDPOINT`, or https://huggingface.co; for `ollama:`, https://registry.ollama.ai. */
  readonly endpoint?: string | URL;
  /** Expected SHA-256 of a single file, if the server does not send it. */
  readonly sha256?: string;
  /** Ask the server even if the model is stored. Default false. */
  readonly refresh?: boolean;
  /**
   * Wait while another page or process downloads the model, and use its files. If it gives up, the download goes on from its bytes.
   * `onProgress` reports the bytes of the other download. Default false: the error `busy`.
   */
  readonly wait?: boolean;
  readonly onProgress?: (progress: PullProgress) => void;
}

/** A model in the storage. */
export interface StoredModel {
  /** Name of the first file. */
  readonly name: string;
  /** Reference or URL that the model was pulled by. */
  readonly source: string;
  readonly bytes: number;
  readonly files: readonly Downloaded[];
}

export interface PulledModel extends StoredModel {
  /** Input for {@link readGguf}: one file, or the parts of a split file. On disk, the first path is enough. */
  readonly input: readonly GgufInput[];
  /** True if the model was stored and no server was asked. */
  readonly wasStored: boolean;
}

const kinds: Kinds<PullOptions> = {
  fetch: httpKinds.fetch,
  retries: httpKinds.retries,
  backoffMs: httpKinds.backoffMs,
  stallMs: httpKinds.stallMs,
  storage: modelStorage,
  token: string,
  endpoint: url,
  sha256: string,
  refresh: boolean,
  wait: boolean,
  signal: abortSignal,
  onProgress: callback,
};

/** Returns the default storage of {@link pull}. */
export async function defaultStorage(): Promise<ModelStorage> {
  if (isNode()) return (await import("./diskStorage.ts")).diskStorage();
  return opfsStorage();
}

/**
 * Downloads a model into the storage, or finds it there. `source` is `hf:owner/repo:Q4_K_M` or `hf:owner/repo/file.gguf`, optionally with
 * `@revision` after the repository, `ollama:name:tag`, or an `https:` URL. All parts of a split file are downloaded.
 *
 * A file gets its name only after its length, its header and its SHA-256 (if the hub or the caller gives one) have been checked. Bytes of
 * an interrupted pull are kept, and the next pull resumes from them.
 * @throws {GgufError} `io`, `missing`, `parts`, `corrupt`, `quota`, `busy`, `range`; the signal's reason if it is aborted
 */
export async function pull(source: string | URL, options: PullOptions = {}): Promise<PulledModel> {
  check("pull", "source", source, url);
  const { signal, onProgress } = checkOptions("pull", options, kinds);
  signal?.throwIfAborted();
  const storage = options.storage ?? (await defaultStorage());
  const key = sourceKey(source);
  const before = await findByKeys(storage, [key]);
  if (before !== undefined && options.refresh !== true) return { ...before, input: await inputsOf(storage, before), wasStored: true };
  const { files: remote, httpFor } = await remoteFiles(source, options);
  const wanted = withDigest(remote, options.sha256);
  const report = (name: string, bytes: readonly FileBytes[]): void => {
    const totals = bytes.map(({ total }) => total);
    onProgress?.({ name, done: sum(bytes.map(({ done }) => done)), total: totals.includes(undefined) ? undefined : sum(totals) });
  };
  let hasWaited = false;
  const onWait = (bytes: readonly FileBytes[]): void => {
    hasWaited = true;
    report(elementAt(wanted, 0).name, bytes);
  };
  const lock = options.wait === true ? await lockModelWhenFree(storage, wanted, signal, onWait) : await lockModel(storage, wanted);
  try {
    const now = hasWaited ? await findByKeys(storage, [key]) : undefined;
    // A model that was there before, in the same version, is not what the other caller has downloaded.
    const isNew = now !== undefined && JSON.stringify(now) !== JSON.stringify(before);
    const signals = [signal, lock.lost].filter((one) => one !== undefined);
    const model = isNew ? now : await downloadAll(storage, key, wanted, httpFor, AbortSignal.any(signals), report);
    return { ...model, input: await inputsOf(storage, model), wasStored: false };
  } finally {
    await lock.release();
  }
}

/** Downloads the files of a model, and records it. */
async function downloadAll(
  storage: ModelStorage,
  key: string,
  wanted: readonly RemoteFile[],
  httpFor: (url: URL) => HttpOptions,
  signal: AbortSignal,
  report: (name: string, bytes: readonly FileBytes[]) => void,
): Promise<StoredModel> {
  await checkRoom(storage, wanted);
  const bytes: FileBytes[] = wanted.map(({ size }) => ({ done: 0, total: size }));
  const files: Downloaded[] = [];
  for (const [i, file] of wanted.entries()) {
    const downloaded = await download(storage, file, key, httpFor(file.url), signal, (done, total) => {
      bytes[i] = { done, total };
      report(file.name, bytes);
    });
    bytes[i] = { done: downloaded.bytes, total: bytes[i]?.total };
    files.push(downloaded);
  }
  // The record of the first file lists all files, so it is written last: the model is then complete.
  const first = elementAt(files, 0);
  const model: StoredModel = { name: first.name, source: key, bytes: sum(files.map((file) => file.bytes)), files };
  await writeRecord(storage, `${model.name}.json`, { ...first, source: key, model });
  return model;
}

/** Returns the files of a model on its server, and the options of requests for them. */
export async function remoteFiles(
  source: string | URL,
  options: PullOptions = {},
): Promise<{ readonly files: readonly RemoteFile[]; readonly httpFor: (url: URL) => HttpOptions }> {
  const place = remotePlace(source);
  if (place.kind === "hub" && place.reference.startsWith("ollama:")) return ollamaFiles(place.reference, options);
  const request = hubRequest(options);
  const { httpFor } = request;
  const files =
    place.kind === "hub"
      ? await resolveHubSpec(parseHubSpec(place.reference), request)
      : await filesOfUrl(place.url, httpFor(place.url), options.signal);
  return { files, httpFor };
}

/** Returns the file of a model in Ollama's registry, which takes no token. */
async function ollamaFiles(
  reference: string,
  options: PullOptions,
): Promise<{ readonly files: readonly RemoteFile[]; readonly httpFor: (url: URL) => HttpOptions }> {
  const { ollamaEndpoint, resolveOllamaReference } = await import("./ollamaRegistry.ts");
  const endpoint = endpointOf(options.endpoint ?? ollamaEndpoint, "endpoint");
  const httpFor = (): HttpOptions => ({ ...options, headers: {} });
  return { files: await resolveOllamaReference(reference, { endpoint, httpFor, signal: options.signal }), httpFor };
}

/** Returns the complete models in the storage. */
export async function listModels(storage: ModelStorage): Promise<readonly StoredModel[]> {
  check("listModels", "storage", storage, modelStorage);
  const models: StoredModel[] = [];
  for (const name of (await storage.names()).toSorted()) {
    if (!name.endsWith(".gguf.json")) continue;
    const model = storedModel((await readRecord(storage, name))?.model);
    if (model === undefined) continue;
    const isComplete = await Promise.all(model.files.map(async (file) => (await storage.size(file.name)) === file.bytes));
    if (isComplete.every(Boolean)) models.push(model);
  }
  return models;
}

/** Finds a stored model by its name, reference or URL, with the input to open it. Returns undefined if it is not stored. */
export async function findStored(storage: ModelStorage, source: string): Promise<PulledModel | undefined> {
  const model = await findModel(storage, source);
  return model === undefined ? undefined : { ...model, input: await inputsOf(storage, model), wasStored: true };
}

/**
 * Returns the beginning of a model whose download was interrupted, found by its reference or URL. It has the size of the whole file, and only
 * what was downloaded can be read, which may be enough for the header. Returns undefined if there is none.
 */
export async function findPartial(storage: ModelStorage, source: string): Promise<ByteSource | undefined> {
  check("findPartial", "storage", storage, modelStorage);
  return openPartial(storage, keysOf(source));
}

/** Removes a model and the rest of an interrupted download of it. @throws {GgufError} `missing`, `busy` */
export async function removeModel(storage: ModelStorage, source: string): Promise<StoredModel> {
  const model = await findModel(storage, source);
  if (model === undefined) throw new GgufError("missing", { expected: `a stored model '${shownUrl(source)}'`, got: "none" });
  const lock = await lockModel(storage, model.files);
  try {
    for (const { name } of model.files) {
      for (const suffix of [".json", "", ".partial", ".partial.json"]) await storage.remove(`${name}${suffix}`);
    }
  } finally {
    await lock.release();
  }
  return model;
}

async function findModel(storage: ModelStorage, source: string): Promise<StoredModel | undefined> {
  return findByKeys(storage, keysOf(source));
}

/** Returns what a model may be recorded under. */
function keysOf(source: string): readonly string[] {
  check("models", "source", source, string);
  // In pages a name parses as a relative URL, by which no model was pulled.
  const place = placeOf(source);
  return place.kind === "url" ? [source, recordUrl(place.url)] : [source];
}

async function findByKeys(storage: ModelStorage, keys: readonly string[]): Promise<StoredModel | undefined> {
  return (await listModels(storage)).find(({ source, name }) => keys.includes(source) || keys.includes(name));
}

async function inputsOf(storage: ModelStorage, { files }: StoredModel): Promise<readonly GgufInput[]> {
  return Promise.all(files.map(({ name }) => storage.input(name)));
}

/** Returns the key of a stored model: the hub reference, or the URL without its secrets. */
function sourceKey(source: string | URL): string {
  const place = remotePlace(source);
  return place.kind === "hub" ? place.reference : recordUrl(place.url);
}

/** Returns the hub reference or URL to download. @throws {GgufError} `range` for any other source */
function remotePlace(source: string | URL): Exclude<Place, { readonly kind: "path" }> {
  const place = placeOf(source);
  if (place.kind === "hub" || (place.kind === "url" && isHttp(place.url))) return place;
  throw new GgufError("range", {
    expected: "hf:owner/repo:QUANT, hf:owner/repo/file.gguf, ollama:NAME:TAG or an http(s) URL",
    got: `'${shownUrl(source)}'`,
  });
}

async function filesOfUrl(url: URL, options: HttpOptions, signal: AbortSignal | undefined): Promise<readonly RemoteFile[]> {
  const split = parseSplitName(url.pathname);
  if (split !== undefined && split.number !== 1)
    throw new GgufError("parts", { expected: "the first part of a split file", got: `part ${split.number}` });
  const urls = Array.from({ length: split?.count ?? 1 }, (_, i) => {
    const part = new URL(url);
    if (split !== undefined) part.pathname = splitName({ ...split, number: i + 1 });
    return part;
  });
  const files: RemoteFile[] = [];
  for (const part of urls) {
    const linked = await linkedFile(part, options, signal);
    files.push({ url: part, name: nameOfUrl(part), size: linked.size, sha256: linked.sha256 });
  }
  return files;
}

function withDigest(files: readonly RemoteFile[], given: string | undefined): readonly RemoteFile[] {
  if (given === undefined) return files;
  const sha256 = digestOf(given);
  if (sha256 === undefined || files.length !== 1) {
    throw new GgufError("range", {
      expected: "64 hexadecimal digits as sha256 of a single file",
      got: files.length === 1 ? given : `${files.length} files`,
    });
  }
  return files.map((file) => ({ ...file, sha256 }));
}

async function checkRoom(storage: ModelStorage, files: readonly RemoteFile[]): Promise<void> {
  const free = await storage.freeBytes();
  let missing = 0;
  for (const { name, size = 0 } of files) {
    const there = (await storage.size(name)) ?? (await storage.size(`${name}.partial`)) ?? 0;
    missing += Math.max(0, size - there);
  }
  if (free === undefined || missing <= free) return;
  const hint = "remove models that you do not need";
  throw new GgufError("quota", { expected: `${missing} free bytes in ${storage.location}`, got: String(free), hint });
}

function storedModel(value: unknown): StoredModel | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { name, source, bytes, files } = value as Partial<Record<keyof StoredModel, unknown>>;
  if (typeof name !== "string" || typeof source !== "string" || typeof bytes !== "number" || !Array.isArray(files)) return undefined;
  const parsed = files.map(parseDownloaded).filter((file) => file !== undefined);
  return parsed.length === files.length && parsed.length > 0 ? { name, source, bytes, files: parsed } : undefined;
}

function sum(values: readonly (number | undefined)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0);
}
