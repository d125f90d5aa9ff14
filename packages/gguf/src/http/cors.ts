import { GgufError } from "../errors.ts";
import { type HttpOptions, identity, send } from "./request.ts";
import { shownUrl } from "./secrets.ts";

/** Time limit of each request that looks for the cause, in ms. */
const probeMs = 5_000;

/**
 * Returns the error of a server that does not let this page read a URL (CORS), or undefined if the network failed. Browsers do not tell
 * a page which of the two happened. So the server is asked for an opaque answer: if it arrives and a readable answer still does not,
 * the server refuses access.
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
  // Cross-origin isolation may block the opaque answer too, so the cause stays unknown there.
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

/** Returns the error of a partial answer whose `Content-Range` is hidden, so that its position in the file is unknown. */
export function hiddenRange(url: URL): GgufError {
  return new GgufError("io", {
    expected: `the header Content-Range from ${shownUrl(url)}`,
    got: "an answer that hides it from this page (CORS)",
    hint: "the server must answer with the header 'Access-Control-Expose-Headers: Content-Range, Content-Length, ETag'",
  });
}
