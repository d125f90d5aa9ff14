import type { BatchRequest } from "./batchRequest.ts";

/** Bounds of the requests that are read ahead, so that those with equal beginnings follow one another. */
const windowBounds = { requests: 1024, characters: 16 * 2 ** 20 } as const;

/** Characters for whose computed tokens a request waits: some blocks of the cache. */
const worthWaiting = 256;

interface Entry {
  request: BatchRequest | undefined;
  /** Characters that its text shares with the text of the entry before. */
  readonly shared: number;
  state: "waiting" | "running" | "computed";
}

/** A request to run. Call `end` when it is answered. */
export interface Turn {
  readonly request: BatchRequest;
  end(): void;
}

/**
 * Requests that were read ahead, in the order of their texts. A request waits while another one computes a beginning that both share, and
 * then finds it in the cache.
 */
export class RequestWindow {
  readonly #entries: readonly Entry[];
  #waiting: number;

  constructor(requests: readonly BatchRequest[]) {
    const sorted = [...requests].sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : a.line - b.line));
    this.#entries = sorted.map((request, i) => ({
      request,
      shared: i === 0 ? 0 : commonLength(sorted[i - 1]!.text, request.text),
      state: "waiting",
    }));
    this.#waiting = sorted.length;
  }

  /** Whether every request has been taken. */
  get isEmpty(): boolean {
    return this.#waiting === 0;
  }

  /** The next request that need not wait for another one. Undefined if there is none. */
  take(): Turn | undefined {
    // Characters shared with the nearest request before that is computed, and that is being computed.
    let [computed, computing] = [0, 0];
    for (const entry of this.#entries) {
      [computed, computing] = [Math.min(computed, entry.shared), Math.min(computing, entry.shared)];
      if (entry.state === "waiting" && computing < computed + worthWaiting) return this.#begin(entry);
      if (entry.state === "computed") computed = Number.POSITIVE_INFINITY;
      if (entry.state === "running") computing = Number.POSITIVE_INFINITY;
    }
    return undefined;
  }

  #begin(entry: Entry): Turn {
    const request = entry.request!;
    this.#waiting--;
    entry.request = undefined;
    entry.state = "running";
    return {
      request,
      end() {
        entry.state = "computed";
      },
    };
  }
}

/** Collects requests into windows. */
export async function* windowsOf(requests: AsyncIterable<BatchRequest>): AsyncGenerator<RequestWindow, void, undefined> {
  let collected: BatchRequest[] = [];
  let characters = 0;
  for await (const request of requests) {
    collected.push(request);
    characters += request.text.length;
    if (collected.length < windowBounds.requests && characters < windowBounds.characters) continue;
    yield new RequestWindow(collected);
    [collected, characters] = [[], 0];
  }
  if (collected.length > 0) yield new RequestWindow(collected);
}

function commonLength(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let length = 0;
  while (length < end && a.charCodeAt(length) === b.charCodeAt(length)) length++;
  return length;
}
