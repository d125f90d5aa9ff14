import { ApiError } from "../errors.ts";
import { isLoopback } from "./hosts.ts";

/** Whether a page of this origin may send requests and read responses: pages of the machine itself, and those of the list. */
export function isAllowedOrigin(origin: string, allowed: readonly string[]): boolean {
  if (allowed.includes("*") || allowed.includes(origin)) return true;
  return URL.canParse(origin) && isLoopback(new URL(origin).hostname);
}

/**
 * Refuses requests of foreign pages. Browsers send simple requests for any page, and only keep the response from it.
 * @throws {ApiError} 403 unless the page may send requests or is of the request's own host
 */
export function checkOrigin({ headers, url }: Request, allowed: readonly string[]): void {
  const origin = headers.get("origin");
  if (origin === null || isAllowedOrigin(origin, allowed)) return;
  // A proxy may change the host. No page can set this header.
  if (headers.get("sec-fetch-site") === "same-origin") return;
  if (URL.canParse(origin) && new URL(origin).host === (headers.get("host") ?? new URL(url).host)) return;
  throw new ApiError(
    403,
    "forbidden_origin",
    `expected a page of this machine or this server, got one of ${JSON.stringify(origin)}; allow it by corsOrigins`,
  );
}
