import { GgufError } from "../errors.ts";
import { shown } from "../shown.ts";

type Headers = Readonly<Record<string, string>>;

/**
 * Returns a request that `fetch` accepts. User and password of the URL, which `fetch` refuses, become the header `Authorization`, unless
 * that is given.
 * @throws {GgufError} `range` for headers that HTTP cannot carry
 */
export function fetchable(url: URL, headers: Headers): { readonly url: URL; readonly headers: Headers } {
  checkHeaders(headers);
  if (url.username === "" && url.password === "") return { url, headers };
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  return { url: bare, headers: { Authorization: basicAuthorization(url), ...headers } };
}

/** Checked here because an error of `Headers` or `fetch` would quote the value. */
function checkHeaders(headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) {
    try {
      new globalThis.Headers([[name, value]]);
    } catch {
      const hint = name === "Authorization" ? "check the token" : undefined;
      throw new GgufError("range", { expected: `a header ${shown(name)} of printable Latin-1 characters`, got: "other characters", hint });
    }
  }
}

function basicAuthorization({ username, password }: URL): string {
  try {
    const bytes = new TextEncoder().encode(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
    return `Basic ${btoa(String.fromCharCode(...bytes))}`;
  } catch {
    throw new GgufError("range", {
      expected: "user and password of a URL to be percent-encoded UTF-8",
      got: "another encoding",
      hint: "write a percent sign itself as %25",
    });
  }
}
