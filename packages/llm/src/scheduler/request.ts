import { DeviceLostError, ProgramError } from "@centella/core";
import type { Sequence } from "../cache/sequence.ts";
import type { DeviceSampling } from "../sampling/deviceSampling.ts";

/** What runs need of a sequence. */
export type RunSequence = Pick<
  Sequence,
  | "adapters"
  | "append"
  | "beginDraft"
  | "blockOf"
  | "checkCache"
  | "encoded"
  | "ids"
  | "isParked"
  | "reserveUntil"
  | "restart"
  | "revision"
  | "slotOf"
  | "stateRow"
  | "unpark"
  | "writeBlocks"
>;

/**
 * Which of the tokens that are fed give output rows: logits, or the hidden states that embeddings are made of. Tokens of which some are
 * named by their indices are computed in a single run.
 */
export type OutputRows = "none" | "last" | "all" | readonly number[];

/** How the device chooses the token that follows each row. */
export interface TokenChoice {
  readonly sampling: DeviceSampling;
  /** Selects the random number of the first row, together with the seed. Those of the next rows are at the next positions. */
  readonly position: number;
  /** For each row, bits of the tokens that may follow it. Default: all tokens may. */
  readonly masks?: readonly Uint32Array[] | undefined;
  /**
   * Returns bits of the tokens that may follow the chosen one, as soon as that one is known. The next token is then chosen before the caller
   * asks for it. Undefined: the caller has to say how it goes on. The bits are valid until the next call. Only without a draft.
   */
  readonly maskAfter?: ((chosen: number) => Uint32Array | undefined) | undefined;
}

/** Output of a request's rows: the rows themselves, `[rows, width]`, or only the chosen tokens, -1 where no token can be chosen. */
export type RowOutput =
  | { readonly kind: "values"; readonly values: Float32Array }
  | { readonly kind: "tokens"; readonly tokens: Int32Array; choice: TokenChoice };

/** How tokens are fed. */
export interface FeedOptions {
  readonly rows: OutputRows;
  /**
   * The tokens are a draft: they are computed in a single run, and the sequence does not keep them until `Sequence.acceptDraft` does.
   */
  readonly isDraft?: boolean;
  /**
   * Number of tokens that the caller will feed one by one after these, each the token that the last row before it chose, unless the text ends
   * earlier or a draft is rejected. They may be computed before they are fed. Default 0. Only with an output of tokens, which has the last row.
   */
  readonly following?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Tokens to append to a sequence. */
export interface FeedRequest {
  readonly sequence: RunSequence;
  readonly ids: readonly number[];
  readonly options: FeedOptions;
  readonly output: RowOutput;
}

/** Settles the promise of a request. */
export interface Completion {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A request in the scheduler's queue. */
export class Request implements FeedRequest {
  readonly sequence: RunSequence;
  /** Position of the first token. */
  readonly start: number;
  readonly output: RowOutput;
  /** Number of tokens. */
  readonly length: number;
  /** The tokens. A request made ahead has none until the run that chooses its only token is over: until then, only the device knows it. */
  ids: readonly number[];
  options: FeedOptions;
  /** Number of tokens that may follow; see {@link FeedOptions}. */
  following: number;
  /** Undefined for a request that was made ahead, until its token is fed. */
  completion: Completion | undefined;
  /** Tokens that are computed. */
  done = 0;
  /** Consecutive runs that had no room for the request. */
  skipped = 0;
  /** Whether runs with all of its tokens were submitted, and the choice of the token that follows them. */
  isSubmitted = false;
  /** Whether the choice waits for a mask, which depends on a token that the host does not know yet. */
  isDeferred = false;
  /** Row of the kept logits of a request whose run was submitted without its choice; see `DeferredChoices`. */
  keptRow: number | undefined;
  /** The request after this one: for the token that it chooses, made ahead, or for the rest of a draft. */
  next: Request | undefined;
  readonly #revision: number;
  #isDropped = false;

  constructor({ sequence, ids, options, output }: FeedRequest, start: number, following: number) {
    this.sequence = sequence;
    this.start = start;
    this.ids = ids;
    this.length = Math.max(1, ids.length);
    this.options = options;
    this.following = following;
    this.output = output;
    this.#revision = sequence.revision;
  }

  /** Position after the last token. */
  get end(): number {
    return this.start + this.length;
  }

  /** Whether it was made ahead in vain: the sequence has gone another way. */
  get isDropped(): boolean {
    return this.#isDropped || this.sequence.revision !== this.#revision;
  }

  /** Drops the request and those that were made ahead after it. Their runs write after the sequence's last token, as rejected drafts do. */
  drop(): void {
    this.#isDropped = true;
    this.next?.drop();
  }
}

/** Number of output rows of `ids`. */
export function countRows(ids: readonly number[], { rows }: FeedOptions): number {
  return typeof rows === "object" ? rows.length : { none: 0, last: 1, all: ids.length }[rows];
}

/** Why a request that was aborted or dropped ends. */
export function endOf({ options: { signal } }: Request): unknown {
  // A request that a caller waits for is dropped if its sequence lost its cache.
  return signal?.aborted ? signal.reason : new DeviceLostError("model", "it was opened again");
}

/** @throws {ProgramError} if the context does not hold the tokens */
export function requireRoom({ sequence, ids }: FeedRequest, contextLength: number): void {
  const room = contextLength - sequence.ids.length;
  if (ids.length > room)
    throw new ProgramError(
      `feed: expected at most ${room} tokens, got ${ids.length}; shorten the text, or load the model with a greater contextLength`,
    );
}
