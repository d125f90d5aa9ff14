import { limits } from "../limits.ts";
import { shown, shownPath } from "../shown.ts";

/**
 * Returns a URL for a message or a record: without user, password, query and fragment, each of which can be secret. A `data:` URL is cut.
 */
export function shownUrl(url: URL | string): string {
  if (typeof url === "string") return URL.canParse(url) ? shownUrl(new URL(url)) : shownUrlLike(url);
  const bare = Object.assign(new URL(url), { username: "", password: "", search: "", hash: "" });
  return url.protocol === "data:" ? shown(bare.href, limits.dataUrlCharacters) : shownPath(bare.href);
}

/** Like {@link shownUrl}, for text that does not parse as a URL. */
function shownUrlLike(text: string): string {
  return shownPath(text.includes("://") ? text.replace(/:\/\/[^/?#]*@/, "://").replace(/[?#].*$/s, "") : text);
}

/** Returns `text` without the secrets of a request, which errors of `fetch` quote. */
export function withoutSecrets(
  text: string,
  { username, password, search, hash }: URL,
  headers: Readonly<Record<string, string>> = {},
): string {
  const secrets = [search, hash, password, username, ...Object.values(headers)].filter((secret) => secret.length > 1);
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, "…"), text);
}
