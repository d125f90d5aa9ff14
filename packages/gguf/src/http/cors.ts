import { GgufError } from "../errors.ts";
import { type HttpOptions, identity, send } from "./request.ts";
import { shownUrl } from "./secrets.ts";

/** How long each request that looks for the cause may take. */
const probeMs = 5_000;

/**
 * Why a page cannot read a URL of another origin, or undefined where the failure was the network's. Browsers report both alike, so the
 * server is asked for an answer that no page may read: where that comes and a readable one still does not, the server refuses.
 */
export async function corsRefusal(url: URL, options: HttpOptions, signal: AbortSignal | undefined): Promise<GgufError | undefined> {
  const answers = async (init: RequestInit, headers: Readonly<Record<string, string>>): Promise<boolean> => {
    try {
      const response = await send(url, { ...init, headers, cache: "no-store" }, { ...options, stallMs: probeMs }, signal);
      await response.body?.cancel();
      return true;
    } catch {
      signal?.throwIfAborted();
      return false;
    }
  };
  const isReachable = await answers({ method: "HEAD", mode: "no-cors" }, {});
  // Cross-origin isolation may block the answer to that request too, so there the cause stays open.
  if (!isReachable && globalThis.crossOriginIsolated !== true) return undefined;
  if (await answers({}, { ...options.headers, ...identity, Range: "bytes=0-0" })) return undefined;
  const { origin } = globalThis;
  const doubt = isReachable ? "" : ", or it cannot be reached (the browser's console has the reason)";
  const allowed = Object.keys(options.headers ?? {});
  const preflight = allowed.length === 0 ? "" : ` and, to OPTIONS, 'Access-Control-Allow-Headers: ${allowed.join(", ")}'`;
  return new GgufError("io", {
    expected: "a server that lets this page read the file",
    got: "none",
    summary: `cannot read '${shownUrl(url)}': its server does not let pages of ${origin} read it (CORS)${doubt}`,
    hint: `the server must answer with the header 'Access-Control-Allow-Origin: ${origin}' (or *)${preflight}`,
  });
}

/** The error of a part of a file without a readable `Content-Range`, so that nothing says which part it is. */
export function hiddenRange(url: URL): GgufError {
  return new GgufError("io", {
    expected: `the header Content-Range from ${shownUrl(url)}`,
    got: "an answer that hides it from this page (CORS)",
    hint: "the server must answer with the header 'Access-Control-Expose-Headers: Content-Range, Content-Length, ETag'",
  });
}
