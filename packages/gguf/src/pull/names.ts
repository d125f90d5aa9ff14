import { GgufError } from "../errors.ts";
import { shownPath } from "../shown.ts";
import { createSha256 } from "./sha256.ts";

/**
 * The URL by which a stored file is known again: without its user part, and with a digest in place of its query, since both may be secret.
 * Signatures change from link to link, so a signed link is a file of its own.
 */
export function recordUrl(url: URL): string {
  return `${url.origin}${url.pathname}${url.search === "" ? "" : `?${digestOfQuery(url)}`}`;
}

/** A flat file name for what a URL stands for, whose only namesakes are URLs of the same host with `--` in their path. */
export function nameOfUrl(url: URL): string {
  const query = url.search === "" ? "" : `@${digestOfQuery(url)}`;
  const path = decodedPath(url)
    .slice(1)
    .replace(/[^\w.@-]+/g, "--");
  return checkedName(`${url.host.replace(":", "_")}${query}--${path}${path.endsWith(".gguf") ? "" : ".gguf"}`);
}

/** A flat file name for a file of a hub's repository. */
export function nameOfHubFile(repo: string, revision: string, path: string): string {
  const folder = revision === "main" ? repo : `${repo}@${revision}`;
  // Windows separates folders by backslashes too, and reserves the other characters.
  return checkedName(`${folder}--${path}`.replace(/[/\\:*?"<>|]/g, "--"));
}

/** File systems allow names of 255 bytes; the longest that is added is `.partial.json.01234567.tmp`. */
const mostNameBytes = 255 - 32;

function checkedName(name: string): string {
  const bytes = new TextEncoder().encode(name).length;
  if (bytes > mostNameBytes) {
    const expected = `a file name of at most ${mostNameBytes} bytes`;
    throw new GgufError("range", { expected, got: `${bytes} for '${shownPath(name)}'`, hint: "download the file under a shorter name" });
  }
  // Lone surrogates have no UTF-8, so neither a URL nor a file system can carry them.
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
