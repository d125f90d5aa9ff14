import { Request, type RunSequence, type TokenChoice } from "./request.ts";

/**
 * Requests that are made before their tokens are fed. After each row that chooses a token, a caller with
 * {@link FeedOptions.following following} tokens feeds the chosen one, unless its text ends. So the scheduler makes these requests itself,
 * and the caller finds them computed or under way. Those that it does not ask for are dropped.
 */
export class Lookahead {
  /** Whether requests can be made ahead whose masks are not known yet. */
  canDefer = false;
  /** Maximum number of requests ahead of each sequence's caller. */
  readonly #limit: number;
  readonly #contextLength: number;
  /** The latest request of each sequence that a caller made. */
  readonly #latest = new WeakMap<RunSequence, Request>();

  /** @param runsInFlight maximum number of runs that are queued at once */
  constructor(runsInFlight: number, contextLength: number) {
    this.#limit = runsInFlight - 1;
    this.#contextLength = contextLength;
  }

  /** Returns the request that was made ahead for these tokens and this choice, or for the first token of a draft, if there is one. */
  take(sequence: RunSequence, ids: readonly number[], { sampling, position }: TokenChoice): Request | undefined {
    const next = this.#latest.get(sequence)?.next;
    if (next === undefined || next.isDropped || next.output.kind !== "tokens") return undefined;
    const { choice } = next.output;
    if (choice.sampling !== sampling || choice.position !== position) return undefined;
    if (ids.length > 1 && next.keptRow === undefined) return undefined;
    return next.ids[0] === ids[0] && next.start === sequence.ids.length ? next : undefined;
  }

  /** Drops the requests that were made ahead for a sequence. */
  drop(sequence: RunSequence): void {
    this.#latest.get(sequence)?.next?.drop();
  }

  /** Makes the requests that may follow one of a caller. Returns the first of them, if its token is on the device or on the way there. */
  extend(request: Request): Request | undefined {
    if (this.#limit === 0 || request.following === 0) return undefined;
    this.#latest.set(request.sequence, request);
    let last = request;
    let ready: Request | undefined;
    for (let ahead = 0; ahead < this.#limit; ahead++) {
      if (last.next === undefined) {
        if (last.following === 0 || last.isDeferred || last.end >= this.#contextLength) break;
        last.next = this.#nextOf(last);
        if (last.next === undefined) break;
        if (last.isSubmitted) ready = last.next;
      }
      last = last.next;
    }
    return ready;
  }

  /** The request for the token that another one chooses, if it chooses one. */
  #nextOf({ sequence, options, end, following, output }: Request): Request | undefined {
    if (output.kind !== "tokens" || (output.choice.masks !== undefined && !this.canDefer)) return undefined;
    const { sampling, position, masks } = output.choice;
    const choice = { sampling, position: position + output.tokens.length };
    const next = { kind: "tokens", tokens: new Int32Array(1), choice } as const;
    const single = options.isDraft ? ({ ...options, rows: "last", isDraft: false } as const) : options;
    const request = new Request({ sequence, ids: [], options: single, output: next }, end, following - 1);
    request.isDeferred = masks !== undefined;
    return request;
  }
}
