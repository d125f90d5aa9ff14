import { abortSignal, check, checkOptions, type Kinds, nonEmptyString, string, whole } from "@centella/quant/checks";
import { listModels } from "@huggingface/hub";
import { GgufError } from "../errors.ts";
import { shownUrl } from "../http/secrets.ts";
import { httpKinds, url } from "../kinds.ts";
import { limits } from "../limits.ts";
import { fetchJson, filesNamed, type ListedFile, listFiles, modelFiles, parseHubSpec, partsOf, stemOf } from "../pull/hub.ts";
import { type HubOptions, type HubRequest, hubRequest } from "../pull/hubRequest.ts";
import { parseSplitName } from "../splitName.ts";

export type { HubOptions } from "../pull/hubRequest.ts";

/** Options of {@link searchHub}. */
export interface SearchOptions extends HubOptions {
  /** Most repositories to return. Default 10. */
  readonly limit?: number;
}

/** A model of a repository: a file, or all parts of a split one. */
export interface HubFile {
  /** What `loadModel` and `pull` take. */
  readonly source: string;
  /** Path of the file, or of its first part, in the repository. */
  readonly path: string;
  /** Quantisation that the file's name gives, such as "Q4_K_M". */
  readonly quantization: string | undefined;
  /** Undefined if the hub does not say. */
  readonly bytes: number | undefined;
  /** Number of files that the model consists of. */
  readonly parts: number;
}

/** A repository with GGUF files on a hub. */
export interface HubRepository {
  /** `owner/name`. */
  readonly name: string;
  /** Identifier such as "apache-2.0"; undefined if the repository gives none. */
  readonly license: string | undefined;
  /** Whether downloads need a token of a user who has accepted the terms. */
  readonly isGated: boolean;
  /** In the last 30 days. */
  readonly downloads: number;
  readonly likes: number;
  /** The models, smallest first. */
  readonly files: readonly HubFile[];
}

const kinds: Kinds<SearchOptions> = {
  fetch: httpKinds.fetch,
  retries: httpKinds.retries,
  backoffMs: httpKinds.backoffMs,
  stallMs: httpKinds.stallMs,
  token: string,
  endpoint: url,
  signal: abortSignal,
  limit: whole(1, 100),
};

/**
 * Searches a hub for models in GGUF, the most downloaded first. Repositories without a complete model are left out.
 *
 * Needs the package `@huggingface/hub`.
 * @throws {GgufError} `io` if the hub cannot be reached or gives another answer; the signal's reason if it is aborted
 */
export async function searchHub(query: string, options: SearchOptions = {}): Promise<readonly HubRepository[]> {
  check("searchHub", "query", query, nonEmptyString);
  const { limit = 10 } = checkOptions("searchHub", options, kinds);
  const request = hubRequest(options);
  const found: Promise<HubRepository>[] = [];
  const listed = listModels({
    search: { query, tags: ["gguf"] },
    sort: "downloads",
    limit,
    additionalFields: ["tags"],
    hubUrl: request.endpoint.href.slice(0, -1),
    fetch: listingFetch(request),
  });
  for await (const { name, gated, downloads, likes, tags } of listed) {
    if (!isRepository(name)) continue;
    const described = {
      name,
      license: licenseOf(tags),
      isGated: Boolean(gated),
      downloads: Number(downloads) || 0,
      likes: Number(likes) || 0,
    };
    const files = filesOf(name, request);
    // The loop may end with another error first.
    files.catch(() => undefined);
    found.push(files.then((all) => ({ ...described, files: all })));
  }
  return (await Promise.all(found)).filter(({ files }) => files.length > 0);
}

/** A `fetch` for lists: bounded, tried again, with the token for the hub alone, and with errors of this package. */
function listingFetch({ httpFor, signal }: HubRequest): typeof fetch {
  let pages = 0;
  return async (input) => {
    const address = new URL(String(input));
    if (++pages > limits.hubPages) throw unexpected(address, `more than ${limits.hubPages} pages`);
    const { body, next } = await fetchJson(address, httpFor(address), signal);
    if (!Array.isArray(body) || !body.every(isListed)) throw unexpected(address, "another answer");
    return Response.json(body, next === undefined ? {} : { headers: { Link: `<${next.href}>; rel="next"` } });
  };
}

function unexpected(address: URL, got: string): GgufError {
  return new GgufError("io", { expected: `a list of models from ${shownUrl(address)}`, got, hint: "check HF_ENDPOINT" });
}

function isListed(model: unknown): boolean {
  return typeof model === "object" && model !== null && "id" in model && typeof model.id === "string";
}

/** Whether `hf:` references can name it. */
function isRepository(name: string): boolean {
  try {
    return parseHubSpec(`hf:${name}`).repo === name;
  } catch {
    return false;
  }
}

function licenseOf(tags: unknown): string | undefined {
  const license = Array.isArray(tags) ? tags.find((tag) => String(tag).startsWith("license:")) : undefined;
  return license === undefined ? undefined : String(license).slice("license:".length);
}

async function filesOf(repo: string, request: HubRequest): Promise<readonly HubFile[]> {
  const listed = await listFiles({ repo, revision: "main" }, request);
  const models = modelFiles(listed);
  const files = models.flatMap(({ path }): HubFile[] => {
    const parts = partsOf(path, listed);
    if (parts.length !== (parseSplitName(path)?.count ?? 1)) return [];
    const quantization = quantizationOf(path);
    const isUnique = quantization !== undefined && filesNamed(models, quantization).length === 1;
    const source = isUnique ? `hf:${repo}:${quantization}` : `hf:${repo}/${path}`;
    return [{ source, path, quantization, bytes: totalOf(parts), parts: parts.length }];
  });
  return files.sort((a, b) => (a.bytes ?? 0) - (b.bytes ?? 0));
}

function totalOf(parts: readonly ListedFile[]): number | undefined {
  const sizes = parts.flatMap(({ size }) => size ?? []);
  return sizes.length < parts.length ? undefined : sizes.reduce((a, b) => a + b, 0);
}

/** `Q4_K_M` of `story-8B-UD-Q4_K_M.gguf` or of a folder `Q4_K_M`. */
function quantizationOf(path: string): string | undefined {
  const names = stemOf(path).matchAll(/(?<=^|[-._/])(?:i?q\d\w*|tq\d_\d|b?f16|f32|(?:mx|nv)fp4\w*)(?=$|[-./])/gi);
  return [...names].at(-1)?.[0].toUpperCase();
}
