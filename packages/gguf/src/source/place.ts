import { check } from "@centella/quant/checks";
import { GgufError } from "../errors.ts";
import { shownUrl } from "../http/secrets.ts";
import { url } from "../kinds.ts";
import { nodeModule } from "./nodeModule.ts";

/** Meaning of a string or URL: a file on this machine (Node), a URL to fetch, or a model on a hub (`hf:owner/repo…`) or in Ollama's registry (`ollama:name…`). */
export type Place =
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "url"; readonly url: URL }
  | { readonly kind: "hub"; readonly reference: string };

/** A scheme has two letters or more, so `C:\model.gguf` is a path. */
const schemePattern = /^([a-z][a-z0-9+.-]+):/i;
const urlSchemes = ["https", "http", "file", "blob", "data"];
const forms = "an https:, http:, file:, blob: or data: URL, hf:owner/repo:QUANT, hf:owner/repo/file.gguf or ollama:NAME:TAG";

/**
 * Returns what a string means wherever a model or an adapter is named. With a scheme, it is a URL or a hub reference. Without a scheme,
 * it is a path in Node, and a URL relative to the page in pages and workers.
 * @throws {GgufError} `range` for other schemes and for malformed URLs
 */
export function placeOf(source: string | URL): Place {
  const text = String(check("source", "source", source, url));
  const scheme = schemePattern.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined && hasFileSystem()) return { kind: "path", path: text };
  if (scheme === "hf" || scheme === "ollama") return { kind: "hub", reference: `${scheme}${text.slice(scheme.length)}` };
  if (scheme !== undefined && !urlSchemes.includes(scheme)) {
    const expected = `${hasFileSystem() ? "a path, " : ""}${forms}`;
    const hint = "write ./ before a path that begins like a scheme";
    throw new GgufError("range", { expected, got: `'${shownUrl(text)}'`, hint });
  }
  const base = pageUrl();
  if (!URL.canParse(text, base)) throw new GgufError("range", { expected: forms, got: `'${shownUrl(text)}'` });
  return { kind: "url", url: new URL(text, base) };
}

/** Returns the place as a string with the same meaning in every thread of this process or page. @throws {GgufError} as {@link placeOf} */
export function absolutePlace(source: string | URL): string {
  const place = placeOf(source);
  return place.kind === "path" ? place.path : place.kind === "url" ? place.url.href : place.reference;
}

/** Whether a URL is read over HTTP, by ranges or as a download. */
export function isHttp({ protocol }: URL): boolean {
  return protocol === "https:" || protocol === "http:";
}

/** Whether paths name files, as in Node but not in pages. */
export function hasFileSystem(): boolean {
  return nodeModule("node:fs") !== undefined;
}

/** Base of relative URLs: the base of the page, or the script of a worker. */
function pageUrl(): string | undefined {
  const { document, location } = globalThis as { document?: { readonly baseURI: string }; location?: { readonly href: string } };
  return document?.baseURI ?? location?.href;
}
