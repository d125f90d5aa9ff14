import { ApiError } from "../errors.ts";

/** Names of the machine itself. */
export const loopbackHosts: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** Whether a host name is this machine itself: what others cannot reach. */
export function isLoopback(host: string): boolean {
  return loopbackHosts.includes(host) || host === "::1" || host.endsWith(".localhost") || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * Refuses names that another page's DNS may have bound to this machine.
 * @throws {ApiError} 403 unless the request's host is among the names
 */
export function checkHost({ headers, url }: Request, allowed: readonly string[]): void {
  const host = headers.get("host") ?? new URL(url).host;
  const name = host.replace(/:\d+$/, "").toLowerCase();
  if (allowed.includes(name) || (isLoopback(name) && allowed.some(isLoopback))) return;
  throw new ApiError(
    403,
    "forbidden_host",
    `expected the host to be one of ${allowed.join(", ")}, got ${JSON.stringify(name)}; allow it by hosts`,
  );
}
