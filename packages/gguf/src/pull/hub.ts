import { GgufError } from "../errors.ts";
import { Attempts, bodyOf, checkStatus } from "../http/http.ts";
import { type HttpOptions, send } from "../http/request.ts";
import { shownUrl } from "../http/secrets.ts";
import { limits } from "../limits.ts";
import { shownPath } from "../shown.ts";
import { isHttp } from "../source/place.ts";
import { parseSplitName } from "../splitName.ts";
import type { HubRequest } from "./hubRequest.ts";
import { nameOfHubFile } from "./names.ts";

/** A file to download. */
export interface RemoteFile {
  readonly url: URL;
  /** Name in the storage. */
  readonly name: string;
  readonly size: number | undefined;
  /** Lower-case hexadecimal. */
  readonly sha256: string | undefined;
}

/** A model on a hub: `hf:owner/repo[@revision]`, then `:QUANT`, `/path/to/file.gguf` or nothing. */
export interface HubSpec {
  readonly repo: string;
  readonly revision: string;
  readonly quant?: string;
  readonly path?: string;
}

const specPattern = /^hf:([\w.-]+\/[\w.-]+?)(?:@([\w./-]+?))?(?::([\w.-]+)|\/(.+\.gguf))?$/;

/** Owner and name each begin and end with a letter, a digit or `_`. As on Hugging Face, neither contains `--` or `..`. */
const repoPattern = /^(?!.*(--|\.\.))\w([\w.-]*\w)?\/\w([\w.-]*\w)?$/;

/** @throws {GgufError} `range` for anything else */
export function parseHubSpec(text: string): HubSpec {
  const [, repo, revision = "main", quant, path] = specPattern.exec(text) ?? [];
  const isPath = (part: string | undefined): boolean => part === undefined || !/(^|\/)\.{0,2}(\/|$)/.test(part);
  if (repo === undefined || !repoPattern.test(repo) || !isPath(revision) || !isPath(path)) {
    throw new GgufError("range", { expected: "hf:owner/repo:QUANT or hf:owner/repo/file.gguf", got: `'${shownPath(text)}'` });
  }
  return { repo, revision, ...(quant === undefined ? {} : { quant }), ...(path === undefined ? {} : { path }) };
}

/** A file of a repository. */
export interface ListedFile {
  readonly path: string;
  readonly size: number | undefined;
  readonly sha256: string | undefined;
}

/** Returns the file that a spec names, or all parts of a split file, from the hub's list of the repository. */
export async function resolveHubSpec(spec: HubSpec, request: HubRequest): Promise<readonly RemoteFile[]> {
  const { endpoint } = request;
  const listed = await listFiles(spec, request);
  const chosen = spec.path === undefined ? chooseByQuant(spec, listed) : chooseByPath(spec, spec.path, listed);
  const { repo, revision } = spec;
  return chosen.map(({ path, size, sha256 }) => ({
    // Comes first because it checks the path, for which encodeURIComponent may throw.
    name: nameOfHubFile(repo, revision, path),
    url: new URL(`${repo}/resolve/${encodeURIComponent(revision)}/${path.split("/").map(encodeURIComponent).join("/")}`, endpoint),
    size,
    sha256,
  }));
}

/** The files of a repository. */
export async function listFiles({ repo, revision }: HubSpec, { endpoint, httpFor, signal }: HubRequest): Promise<readonly ListedFile[]> {
  const files: ListedFile[] = [];
  const visited = new Set<string>();
  let entries = 0;
  let next: URL | undefined = new URL(`api/models/${repo}/tree/${encodeURIComponent(revision)}?recursive=true`, endpoint);
  while (next !== undefined) {
    if (visited.has(next.href)) throw endless(next, "the same page twice");
    if (visited.size === limits.hubPages) throw endless(next, `more than ${limits.hubPages} pages`);
    visited.add(next.href);
    const page: { readonly body: unknown; readonly next: URL | undefined } = await fetchJson(next, httpFor(next), signal);
    if (!Array.isArray(page.body)) throw unexpected(next);
    entries += page.body.length;
    if (entries > limits.hubEntries) throw endless(next, `more than ${limits.hubEntries} entries`);
    files.push(...page.body.map(listedFile).filter((file) => file !== undefined));
    // A mirror may list its later pages under the address of the hub itself.
    next = page.next;
  }
  return files;
}

/** Fetches a page of JSON, of a limited size. */
export async function fetchJson(
  url: URL,
  options: HttpOptions,
  signal: AbortSignal | undefined,
): Promise<{ readonly body: unknown; readonly next: URL | undefined }> {
  const attempts = new Attempts(url, options);
  for (;;) {
    try {
      const response = await send(url, { headers: { ...options.headers } }, options, signal);
      checkStatus(url, response);
      const text = await textOf(url, response, options, signal);
      return { body: parsed(url, text), next: nextPage(url, response) };
    } catch (error) {
      await attempts.failed(error, signal);
    }
  }
}

function parsed(url: URL, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unexpected(url);
  }
}

/** URL of the next page, from the header `Link`. */
function nextPage(url: URL, { headers }: Response): URL | undefined {
  const link = /<([^>]+)>;\s*rel="next"/.exec(headers.get("Link") ?? "")?.[1];
  if (link === undefined) return undefined;
  if (!URL.canParse(link, url) || !isHttp(new URL(link, url))) throw unexpected(url);
  return new URL(link, url);
}

async function textOf(url: URL, response: Response, options: HttpOptions, signal: AbortSignal | undefined): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const piece of bodyOf(response, options, signal)) {
    bytes += piece.length;
    if (bytes > limits.hubPageBytes) throw endless(url, `a page of more than ${limits.hubPageBytes} bytes`);
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

function endless(url: URL, got: string): GgufError {
  return new GgufError("io", { expected: `a list of files from ${shownUrl(url)} that ends`, got, hint: "check HF_ENDPOINT" });
}

function unexpected(url: URL): GgufError {
  return new GgufError("io", { expected: `a list of files from ${shownUrl(url)}`, got: "another answer", hint: "check HF_ENDPOINT" });
}

function listedFile(entry: unknown): ListedFile | undefined {
  if (typeof entry !== "object" || entry === null || !("path" in entry) || typeof entry.path !== "string") return undefined;
  if ("type" in entry && entry.type !== "file") return undefined;
  const size = "size" in entry ? fileSize(entry.size) : undefined;
  const lfs = "lfs" in entry && typeof entry.lfs === "object" && entry.lfs !== null ? entry.lfs : {};
  const sha256 = "oid" in lfs ? digestOf(lfs.oid) : undefined;
  return { path: entry.path, size, sha256 };
}

/** Parses the size of a file from a server. Returns undefined for impossible sizes, such as 0 or 1.5. */
export function fileSize(said: unknown): number | undefined {
  return typeof said === "number" && Number.isSafeInteger(said) && said > 0 ? said : undefined;
}

/** Parses a SHA-256 as hubs write it: plain, quoted or after `sha256:`. */
export function digestOf(text: unknown): string | undefined {
  const match = typeof text === "string" ? /^"?(?:sha256:)?([0-9a-f]{64})"?$/i.exec(text) : null;
  return match?.[1]?.toLowerCase();
}

function chooseByPath({ repo }: HubSpec, path: string, listed: readonly ListedFile[]): readonly ListedFile[] {
  const split = parseSplitName(path);
  if (split !== undefined && split.number !== 1)
    throw new GgufError("parts", { expected: "the first part of a split file", got: `part ${split.number}` });
  const found = listed.filter((file) => file.path === path);
  if (found.length === 0) throw new GgufError("missing", { expected: `'${shownPath(path)}' in ${repo}`, got: offer(listed) });
  return allParts(path, listed);
}

function chooseByQuant({ repo, quant }: HubSpec, listed: readonly ListedFile[]): readonly ListedFile[] {
  const models = modelFiles(listed);
  // Without a choice, the only file, or the quantisation that llama.cpp takes.
  const found = quant === undefined && models.length === 1 ? models : filesNamed(models, quant ?? "Q4_K_M");
  const [chosen, ...further] = found;
  if (chosen !== undefined && further.length === 0) return allParts(chosen.path, listed);
  const expected = quant === undefined ? `one model in ${repo}` : `one ${quant} model in ${repo}`;
  const hint = "name the file: hf:owner/repo/file.gguf";
  throw new GgufError("missing", { expected, got: found.length === 0 ? offer(models) : `${found.length}: ${offer(found)}`, hint });
}

/** The models of a repository: of a split file, the first part. */
export function modelFiles(listed: readonly ListedFile[]): readonly ListedFile[] {
  return listed.filter(({ path }) => path.endsWith(".gguf") && !path.includes("mmproj") && (parseSplitName(path)?.number ?? 1) === 1);
}

/** Path of a file without its part and ending. */
export function stemOf(path: string): string {
  return parseSplitName(path)?.prefix ?? path.slice(0, -".gguf".length);
}

/** The files that `hf:owner/repo:QUANT` may mean. */
export function filesNamed(models: readonly ListedFile[], quant: string): readonly ListedFile[] {
  const wanted = quant.toLowerCase();
  return models.filter(({ path }) => {
    const stem = stemOf(path).toLowerCase();
    return stem === wanted || stem.split(/[-./]/).includes(wanted) || stem.endsWith(`-${wanted}`) || stem.endsWith(`.${wanted}`);
  });
}

/** All parts of the model in this file. @throws {GgufError} `parts` if some are missing */
function allParts(path: string, listed: readonly ListedFile[]): readonly ListedFile[] {
  const parts = partsOf(path, listed);
  const count = parseSplitName(path)?.count ?? parts.length;
  if (parts.length === count) return parts;
  throw new GgufError("parts", { expected: `all ${count} parts of '${shownPath(path)}'`, got: String(parts.length) });
}

/** The listed parts of the model in this file, in their order. */
export function partsOf(path: string, listed: readonly ListedFile[]): readonly ListedFile[] {
  const split = parseSplitName(path);
  if (split === undefined) return listed.filter((file) => file.path === path);
  return listed
    .filter((file) => {
      const parsed = parseSplitName(file.path);
      return parsed?.prefix === split.prefix && parsed.count === split.count;
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function offer(files: readonly ListedFile[]): string {
  const paths = files.filter(({ path }) => path.endsWith(".gguf")).map(({ path }) => shownPath(path));
  return paths.length === 0
    ? "no .gguf files"
    : `${paths.slice(0, 20).join(", ")}${paths.length > 20 ? ` and ${paths.length - 20} more` : ""}`;
}
