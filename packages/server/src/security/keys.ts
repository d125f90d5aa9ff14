import { ApiError } from "../errors.ts";

/** An API key and what its users may do. */
export interface ApiKey {
  readonly key: string;
  /** Name in events and metrics. Default: `key-1`, `key-2`, … */
  readonly name?: string | undefined;
  /** Requests that may run or wait at the same time. More are refused with status 429. Default: no limit. */
  readonly maxRequests?: number | undefined;
  /** Most tokens of an answer. Longer answers end with the finish reason "length". Default: no limit. */
  readonly maxTokens?: number | undefined;
  /** Most tokens of a prompt and its answer together. Default: the model's context. */
  readonly maxContext?: number | undefined;
}

/** Who sent a request. */
export interface Caller extends Omit<ApiKey, "key" | "name"> {
  readonly name: string;
}

/** The caller of servers without keys. */
export const anyone: Caller = { name: "anyone" };

interface Entry {
  readonly digest: Promise<Uint8Array>;
  readonly caller: Caller;
}

/** The API keys of a server. Keys are compared in constant time, by digests. */
export class Keys {
  readonly #entries: readonly Entry[];

  constructor(keys: readonly ApiKey[]) {
    this.#entries = keys.map(({ key, name, ...limits }, i) => ({
      digest: digestOf(key),
      caller: { ...limits, name: name ?? `key-${i + 1}` },
    }));
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /**
   * The caller whose key a request has, in `Authorization: Bearer` or `x-api-key`.
   * @throws {ApiError} 401 without a key, or with one that is not known
   */
  async callerOf({ headers }: Request): Promise<Caller> {
    if (this.isEmpty) return anyone;
    const given = /^Bearer +(.+)$/i.exec(headers.get("authorization") ?? "")?.[1] ?? headers.get("x-api-key");
    if (given === null) throw new ApiError(401, "invalid_api_key", "expected an API key, got none; send Authorization: Bearer KEY");
    const digest = await digestOf(given);
    let found: Caller | undefined;
    // Every key is compared: the time must not depend on which one matches.
    for (const entry of this.#entries) if (isEqual(digest, await entry.digest)) found = entry.caller;
    if (found === undefined) throw new ApiError(401, "invalid_api_key", "expected an API key of this server, got another one");
    return found;
  }
}

async function digestOf(key: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key)));
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  let difference = 0;
  for (const [i, byte] of a.entries()) difference |= byte ^ b[i]!;
  return difference === 0;
}
