import { limits } from "../limits.ts";
import { shown, shownPath } from "../shown.ts";

/**
 * Returns a URL as it may appear in a message or a record: without its user part, its query and its fragment, any of which can be secret, and
 * without most of its data.
 */
export function shownUrl(url: URL | string): string {
  if (typeof url === "string") return URL.canParse(url) ? shownUrl(new URL(url)) : shownUrlLike(url);
  const bare = Object.assign(new URL(url), { username: "", password: "", search: "", hash: "" });
  return url.protocol === "data:" ? shown(bare.href, limits.dataUrlCharacters) : shownPath(bare.href);
}

/** The same for text that was to be a URL. */
function shownUrlLike(text: string): string {
  return shownPath(text.includes("://") ? text.replace(/:\/\/[^/?#]*@/, "://").replace(/[?#].*$/s, "") : text);
}

/** `text` without what is secret in a request, which errors of `fetch` quote. */
export function withoutSecrets(
  text: string,
  { username, password, search, hash }: URL,
  headers: Readonly<Record<string, string>> = {},
): string {
  const secrets = [search, hash, password, username, ...Object.values(headers)].filter((secret) => secret.length > 1);
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, "…"), text);
}
