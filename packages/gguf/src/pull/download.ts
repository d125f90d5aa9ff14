import { GgufError } from "../errors.ts";
import { Attempts, abortable, bodyOf, checkBusy, isOtherOrigin, type RangeResponse, requestRange } from "../http/http.ts";
import { type HttpOptions, identity, send, TransientError } from "../http/request.ts";
import { shownUrl } from "../http/secrets.ts";
import { readHeader, requireMagic } from "../read/header.ts";
import type { ByteSource } from "../source/byteSource.ts";
import { openSource } from "../source/source.ts";
import { parseSplitName } from "../splitName.ts";
import { digestOf, fileSize, type RemoteFile } from "./hub.ts";
import { recordUrl } from "./names.ts";
import { readRecord, writeRecord } from "./record.ts";
import { createSha256, fastSha256, type Sha256 } from "./sha256.ts";
import type { ModelStorage, StorageWriter } from "./storage.ts";

/** A stored file. */
export interface Downloaded {
  readonly name: string;
  readonly url: string;
  readonly bytes: number;
  /** SHA-256 of the stored bytes. */
  readonly sha256: string;
  /** Whether the SHA-256 was compared with a given one. Otherwise only length and header were checked. */
  readonly isVerified: boolean;
  /** The server's ETag, if it sent one. */
  readonly etag?: string | undefined;
  /** The header `Last-Modified` of the server. */
  readonly lastModified?: string | undefined;
}

const hashChunkBytes = 2 ** 20;
const partialName = (name: string): string => `${name}.partial`;
const stateName = (name: string): string => `${name}.partial.json`;

/** Progress of a file, in bytes. */
export interface FileBytes {
  readonly done: number;
  /** Undefined while it is unknown. */
  readonly total: number | undefined;
}

/** Returns the progress of a file that another caller downloads. */
export async function progressOf(storage: ModelStorage, { name, size }: RemoteFile): Promise<FileBytes> {
  const state = await readRecord(storage, stateName(name));
  const total = size ?? (typeof state?.total === "number" ? state.total : undefined);
  return { done: (await storage.size(partialName(name))) ?? (await storage.size(name)) ?? 0, total };
}

/**
 * Returns the beginning of a model whose download was interrupted, as a source of the whole file's size. Bytes that are not there yet cannot be
 * read. Returns undefined if there is none, or if its size is unknown.
 */
export async function openPartial(storage: ModelStorage, sources: readonly unknown[]): Promise<ByteSource | undefined> {
  for (const name of await storage.names()) {
    if (!name.endsWith(stateName("")) || (parseSplitName(name.slice(0, -stateName("").length))?.number ?? 1) > 1) continue;
    const state = await readRecord(storage, name);
    if (!sources.includes(state?.source) || typeof state?.total !== "number") continue;
    const part = await openSource(await storage.input(partialName(name.slice(0, -stateName("").length))));
    return { size: state.total, read: (...range) => part.read(...range), close: async () => part.close?.() };
  }
  return undefined;
}

/** Whether a file of the storage is a helper file of a download, not a model. */
function isAuxiliary(name: string): boolean {
  return /\.(partial|json|lock|tmp)$/.test(name);
}

/**
 * Downloads one file, unless it is stored with the expected digest. Until all checks have passed, the file is `NAME.partial`, which the
 * next attempt resumes. The caller holds the model's lock. `source` is recorded with the file. `onBytes` is called with the bytes so far
 * and in total.
 * @throws {GgufError} `corrupt` if the bytes do not have the expected SHA-256 (they are removed), `quota`, `io`
 */
export async function download(
  storage: ModelStorage,
  file: RemoteFile,
  source: string,
  options: HttpOptions,
  signal: AbortSignal | undefined,
  onBytes: (done: number, total: number | undefined) => void,
): Promise<Downloaded> {
  const stored = await storedFile(storage, file);
  if (stored !== undefined) return stored;
  const downloaded = await new Download(storage, file, source, options, signal, onBytes).run();
  await writeRecord(storage, `${file.name}.json`, { ...downloaded, source });
  return downloaded;
}

/** Returns the record of the stored file if it has the expected digest and URL. */
async function storedFile(storage: ModelStorage, { name, url, sha256 }: RemoteFile): Promise<Downloaded | undefined> {
  const record = parseDownloaded(await readRecord(storage, `${name}.json`));
  const isSame = record !== undefined && sha256 !== undefined && record.sha256 === sha256 && record.url === recordUrl(url);
  return isSame && (await storage.size(name)) === record.bytes ? record : undefined;
}

/** Parses the record of a file. Returns undefined if it is not one. */
export function parseDownloaded(value: unknown): Downloaded | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { name, url, bytes, sha256, isVerified, etag, lastModified } = value as Partial<Record<keyof Downloaded, unknown>>;
  if (typeof name !== "string" || isAuxiliary(name) || typeof url !== "string" || typeof bytes !== "number") return undefined;
  if (typeof sha256 !== "string" || typeof isVerified !== "boolean") return undefined;
  const header = (text: unknown): string | undefined => (typeof text === "string" ? text : undefined);
  return { name, url, bytes, sha256, isVerified, etag: header(etag), lastModified: header(lastModified) };
}

/**
 * Asks for the size and digest that a hub sends with its redirect to the bytes. Returns nothing if the server sends neither or does not
 * support HEAD; a wrong URL fails when its bytes are requested. A server that does not answer is asked again, because without a digest
 * wrong bytes would be accepted. Pages do not ask: browsers hide redirects to other origins, and some servers forbid HEAD to pages.
 * @throws {GgufError} `io` after the last attempt
 */
export async function linkedFile(url: URL, options: HttpOptions, signal: AbortSignal | undefined): Promise<Partial<RemoteFile>> {
  if (isOtherOrigin(url)) return {};
  const attempts = new Attempts(url, options);
  const headers = { ...options.headers, ...identity };
  for (;;) {
    try {
      const response = await send(url, { method: "HEAD", redirect: "manual", headers }, options, signal);
      await response.body?.cancel();
      // Status 501 means that the server does not support HEAD. Other statuses say nothing about the file.
      if (response.status !== 501) checkBusy(response);
      const size = fileSize(Number(response.headers.get("X-Linked-Size")));
      const sha256 = digestOf(response.headers.get("X-Linked-ETag"));
      return { ...(size === undefined ? {} : { size }), ...(sha256 === undefined ? {} : { sha256 }) };
    } catch (error) {
      await attempts.failed(error, signal);
    }
  }
}

class Download {
  readonly #storage: ModelStorage;
  readonly #file: RemoteFile;
  readonly #source: string;
  readonly #options: HttpOptions;
  readonly #signal: AbortSignal | undefined;
  readonly #onBytes: (done: number, total: number | undefined) => void;
  readonly #partial: string;
  #newHash: () => Sha256 = createSha256;
  /** Hash of the stored bytes. */
  #hash = createSha256();
  #done = 0;
  /** Largest number of bytes so far, over all attempts. */
  #furthest = 0;
  #total: number | undefined;
  #etag: string | undefined;
  #lastModified: string | undefined;

  constructor(
    storage: ModelStorage,
    file: RemoteFile,
    source: string,
    options: HttpOptions,
    signal: AbortSignal | undefined,
    onBytes: (done: number, total: number | undefined) => void,
  ) {
    this.#storage = storage;
    this.#file = file;
    this.#source = source;
    this.#options = options;
    this.#signal = signal;
    this.#onBytes = onBytes;
    this.#partial = partialName(file.name);
    this.#total = file.size;
  }

  async run(): Promise<Downloaded> {
    const attempts = new Attempts(this.#file.url, this.#options);
    this.#newHash = await fastSha256();
    this.#restart();
    let isComplete = await this.#resume();
    while (!isComplete) {
      try {
        await this.#attempt();
        isComplete = true;
      } catch (error) {
        if (error instanceof GgufError && error.code === "not-gguf") await this.#discard();
        if (this.#done > this.#furthest) attempts.progress();
        this.#furthest = Math.max(this.#furthest, this.#done);
        await attempts.failed(error, this.#signal);
      }
    }
    return this.#commit();
  }

  /** Resumes an earlier download of the same file, if there is one. Returns whether all bytes are stored. */
  async #resume(): Promise<boolean> {
    const state = await readRecord(this.#storage, stateName(this.#file.name));
    const size = (await this.#storage.size(this.#partial)) ?? 0;
    const isSame =
      state?.url === recordUrl(this.#file.url) &&
      state.sha256 === this.#file.sha256 &&
      (this.#total === undefined || size <= this.#total) &&
      this.#canResume(state.etag);
    if (!isSame || size === 0) return this.#total === 0;
    this.#etag = typeof state.etag === "string" ? state.etag : undefined;
    const source = await openSource(await this.#storage.input(this.#partial));
    try {
      for (let at = 0; at < size; at += hashChunkBytes) {
        this.#hash.update(await source.read(at, Math.min(hashChunkBytes, size - at), this.#signal));
      }
    } finally {
      await source.close?.();
    }
    this.#done = size;
    this.#onBytes(this.#done, this.#total);
    return size === (this.#total ?? state.total);
  }

  /**
   * Whether more bytes may be appended to the bytes that came with this ETag. A digest shows at the end whether they belong to one file; a
   * strong ETag shows it at once. Weak ETags can be the same for different files.
   */
  #canResume(etag: unknown): boolean {
    return this.#file.sha256 !== undefined || (typeof etag === "string" && !etag.startsWith("W/"));
  }

  async #attempt(): Promise<void> {
    const { url, sha256 } = this.#file;
    if (!this.#canResume(this.#etag)) this.#restart();
    let answer = await requestRange(url, { start: this.#done }, this.#options, this.#signal);
    if (this.#done > 0 && this.#etag !== undefined && answer.etag !== this.#etag) {
      // The file has changed.
      await this.#discardAnswer(answer);
      this.#restart();
      answer = await requestRange(url, { start: 0 }, this.#options, this.#signal);
    }
    this.#etag = answer.etag;
    this.#lastModified = answer.lastModified;
    try {
      await this.#checkSize(answer);
      const total = this.#total ?? answer.total;
      const state = { url: recordUrl(url), sha256, etag: this.#etag, total, source: this.#source };
      await writeRecord(this.#storage, stateName(this.#file.name), state);
    } catch (error) {
      await this.#discardAnswer(answer);
      throw error;
    }
    await this.#take(answer);
  }

  async #checkSize({ total }: RangeResponse): Promise<void> {
    if (total !== undefined && this.#total !== undefined && total !== this.#total) {
      const hint = "the file does not match its listing: try again later";
      throw new TransientError(`the server says ${total} bytes instead of ${this.#total}`, { hint });
    }
    if (total === undefined) return;
    const free = await this.#storage.freeBytes();
    const missing = total - this.#done;
    if (free !== undefined && missing > free) {
      const hint = "remove models that you do not need";
      throw new GgufError("quota", { expected: `${missing} free bytes in ${this.#storage.location}`, got: String(free), hint });
    }
  }

  async #take(answer: RangeResponse): Promise<void> {
    const total = this.#total ?? answer.total;
    // A server that ignores ranges sends the stored bytes again.
    let skip = answer.isPartial ? 0 : this.#done;
    const writer = await this.#storage.write(this.#partial, this.#done, total);
    try {
      for await (const piece of bodyOf(answer.response, this.#options, this.#signal)) {
        if (this.#done === 0 && piece.length >= 4) requireMagic(piece.subarray(0, 4));
        const fresh = piece.subarray(Math.min(skip, piece.length));
        skip -= piece.length - fresh.length;
        if (total !== undefined && this.#done + fresh.length > total) throw new TransientError(`more than ${total} bytes came`);
        await this.#append(writer, fresh);
        this.#onBytes(this.#done, total);
      }
    } finally {
      await writer.close();
    }
    if (skip > 0 || (total !== undefined && this.#done < total)) throw new TransientError(`the connection ended after ${this.#done} bytes`);
  }

  async #append(writer: StorageWriter, bytes: Uint8Array): Promise<void> {
    await writer.write(bytes);
    this.#hash.update(bytes);
    this.#done += bytes.length;
  }

  async #commit(): Promise<Downloaded> {
    const { name, url, sha256: expected } = this.#file;
    const sha256 = this.#hash.hex();
    if (expected !== undefined && sha256 !== expected) {
      await this.#discard();
      const hint = "it has been removed; download it again";
      throw new GgufError("corrupt", { expected: `SHA-256 ${expected} of ${shownUrl(url)}`, got: sha256, hint });
    }
    await this.#checkHeader();
    await abortable(this.#storage.sync?.(this.#partial), this.#signal);
    // The old record must not describe the new file.
    await this.#storage.remove(`${name}.json`);
    await this.#storage.rename(this.#partial, name);
    await this.#storage.remove(stateName(name));
    return {
      name,
      url: recordUrl(url),
      bytes: this.#done,
      sha256,
      isVerified: expected !== undefined,
      etag: this.#etag,
      lastModified: this.#lastModified,
    };
  }

  /** Discards bytes that are not a model, such as a web page, or half a file of unknown length. */
  async #checkHeader(): Promise<void> {
    const source = await openSource(await this.#storage.input(this.#partial));
    try {
      await readHeader(source, this.#signal);
    } catch (error) {
      if (error instanceof GgufError) await this.#discard();
      throw error;
    } finally {
      await source.close?.();
    }
  }

  #restart(): void {
    this.#hash = this.#newHash();
    this.#done = 0;
    this.#etag = undefined;
  }

  async #discardAnswer({ response }: RangeResponse): Promise<void> {
    await response.body?.cancel().catch(() => undefined);
  }

  async #discard(): Promise<void> {
    await this.#storage.remove(this.#partial);
    await this.#storage.remove(stateName(this.#file.name));
  }
}
