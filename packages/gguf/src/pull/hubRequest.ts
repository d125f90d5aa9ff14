import { GgufError } from "../errors.ts";
import type { HttpOptions } from "../http/request.ts";
import { shownUrl } from "../http/secrets.ts";
import { environment } from "./environment.ts";

/** Who asks a hub, and how. */
export interface HubOptions extends Omit<HttpOptions, "headers"> {
  /** Token that is sent only to the hub. Default: the environment variable `HF_TOKEN`. */
  readonly token?: string;
  /** URL of the hub. Default: the environment variable `HF_ENDPOINT`, or https://huggingface.co. */
  readonly endpoint?: string | URL;
  readonly signal?: AbortSignal;
}

/** How a hub is asked. */
export interface HubRequest {
  readonly endpoint: URL;
  /** Options of a request to this URL: the token is for the hub's origin only. */
  readonly httpFor: (url: URL) => HttpOptions;
  readonly signal: AbortSignal | undefined;
}

/** @throws {GgufError} `range` for an endpoint that is no URL */
export function hubRequest({ endpoint: given, token = environment("HF_TOKEN"), signal, ...http }: HubOptions): HubRequest {
  const endpoint = endpointOf(given ?? environment("HF_ENDPOINT") ?? "https://huggingface.co", "HF_ENDPOINT");
  const isForHub = (url: URL): boolean => token !== undefined && url.origin === endpoint.origin;
  const httpFor = (url: URL): HttpOptions => ({ ...http, headers: isForHub(url) ? { Authorization: `Bearer ${token}` } : {} });
  return { endpoint, httpFor, signal };
}

/** The URL of a server, which ends in a slash. @throws {GgufError} `range` for anything else */
export function endpointOf(given: string | URL, name: string): URL {
  const text = String(given);
  if (!URL.canParse(text)) throw new GgufError("range", { expected: `a URL as ${name}`, got: `'${shownUrl(text)}'` });
  const url = new URL(text);
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}
