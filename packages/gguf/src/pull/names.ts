import { GgufError } from "../errors.ts";
import { shownPath } from "../shown.ts";
import { createSha256 } from "./sha256.ts";

/**
 * Returns the URL that identifies a stored file. It has no user or password, and a digest in place of the query, because they may be
 * secret. Each signed link has another signature, so each is a separate file.
 */
export function recordUrl(url: URL): string {
  return `${url.origin}${url.pathname}${url.search === "" ? "" : `?${digestOfQuery(url)}`}`;
}

/** Returns a flat file name for a URL. Only URLs of the same host with `--` in their path can share it. */
export function nameOfUrl(url: URL): string {
  const query = url.search === "" ? "" : `@${digestOfQuery(url)}`;
  const path = decodedPath(url)
    .slice(1)
    .replace(/[^\w.@-]+/g, "--");
  return checkedName(`${url.host.replace(":", "_")}${query}--${path}${path.endsWith(".gguf") ? "" : ".gguf"}`);
}

/** Returns a flat file name for a file of a repository on a hub. */
export function nameOfHubFile(repo: string, revision: string, path: string): string {
  const folder = revision === "main" ? repo : `${repo}@${revision}`;
  // Windows separates folders by backslashes too, and reserves the other characters.
  return checkedName(`${folder}--${path}`.replace(/[/\\:*?"<>|]/g, "--"));
}

/** File systems allow names of 255 bytes. The longest suffix is `.partial.json.01234567.tmp`. */
const mostNameBytes = 255 - 32;

function checkedName(name: string): string {
  const bytes = new TextEncoder().encode(name).length;
  if (bytes > mostNameBytes) {
    const expected = `a file name of at most ${mostNameBytes} bytes`;
    throw new GgufError("range", {
      expected,
      got: `${bytes} for '${shownPath(name)}'`,
      hint: "download the file by other means, under a shorter name",
    });
  }
  // Lone surrogates have no UTF-8 encoding, so URLs and file systems cannot hold them.
  if (/[\p{Cc}\p{Cs}]/u.test(name)) {
    throw new GgufError("range", { expected: "a file name without control characters and lone surrogates", got: `'${shownPath(name)}'` });
  }
  return name;
}

function decodedPath({ pathname }: URL): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    throw new GgufError("range", {
      expected: "a URL whose percent signs each begin the encoding of a UTF-8 byte",
      got: `the path '${shownPath(pathname)}'`,
      hint: "write a percent sign itself as %25",
    });
  }
}

function digestOfQuery({ search }: URL): string {
  const hash = createSha256();
  hash.update(new TextEncoder().encode(search));
  return hash.hex().slice(0, 16);
}
