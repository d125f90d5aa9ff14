import type { Sequence } from "../cache/sequence.ts";
import type { DeviceSampling } from "../sampling/deviceSampling.ts";
import type { FeedOptions, TokenChoice } from "../scheduler/request.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { Drafter } from "./drafter.ts";
import { type ResolvedOverflow, shiftedIds } from "./overflow.ts";

/** Returns the token that follows an output row. `history` must hold all tokens before it. */
export type RowSampler = (row: number) => number;

/** How tokens are chosen. */
export type TokenSampler =
  | { readonly kind: "host"; readonly sample: (logits: Float32Array) => number }
  | {
      readonly kind: "device";
      readonly sampling: DeviceSampling;
      /** Bits of the tokens that may follow the text, and the text with each further token of a draft. Undefined: all tokens may. */
      readonly masks: ((draft: readonly number[]) => readonly Uint32Array[]) | undefined;
      /** Bits of the tokens that may follow the text and the next token; see `TokenChoice`. */
      readonly maskAfter: ((id: number) => Uint32Array | undefined) | undefined;
      /** Returns the token that comes next, given the one that the device chose. */
      readonly settle: (chosen: number) => number;
    };

/** Inputs of a {@link DecodeLoop}. */
export interface DecodeLoopContext {
  readonly scheduler: Scheduler;
  readonly sequence: Sequence;
  /** Ids so far. The caller adds each token before it asks for the next one. */
  readonly history: readonly number[];
  /** Chooses the token that follows `history`. */
  readonly sampler: TokenSampler;
  readonly overflow: ResolvedOverflow;
  /** Maximum number of tokens. */
  readonly maxTokens: number;
  /** Undefined turns drafting off. */
  readonly drafter: Drafter | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Samples one token after another after a prompt. The sequence is valid at every moment. When the next token is requested, the sequence
 * holds all tokens but the newest.
 */
export class DecodeLoop {
  readonly #context: DecodeLoopContext;
  readonly #maskAfter: TokenChoice["maskAfter"];
  decodeMs = 0;
  draftedTokens = 0;
  acceptedTokens = 0;
  /** Tokens that were dropped from the context to make room. */
  shiftedTokens = 0;
  /** Tokens that were sampled. */
  #count = 0;
  /** Tokens in the context, including the newest one. */
  #length = 0;

  constructor(context: DecodeLoopContext) {
    this.#context = context;
    const { sampler, drafter } = context;
    const maskAfter = sampler.kind === "device" ? sampler.maskAfter : undefined;
    // A draft may have other masks.
    this.#maskAfter = maskAfter && ((id) => ((drafter?.mayDraftAfter?.(id) ?? drafter !== undefined) ? undefined : maskAfter(id)));
  }

  /** Whether there is no room for another token. */
  get isFull(): boolean {
    return this.#length >= this.#context.scheduler.contextLength;
  }

  /** Appends tokens to the sequence and returns a sampler, whose row 0 is the last of them. */
  computeLast(ids: readonly number[]): Promise<RowSampler> {
    const { signal } = this.#context;
    return this.#compute(ids, [], { rows: "last", following: this.#following(1), signal });
  }

  /** Number of foreseeable tokens after the next `count` ones. */
  #following(count: number): number {
    const { maxTokens, sampler, drafter } = this.#context;
    // The next tokens are foreseeable if the device chooses them and no draft takes their place. Under a mask, a draft may continue them.
    const isForeseeable = sampler.kind === "device" && (sampler.masks !== undefined || drafter === undefined);
    return isForeseeable ? maxTokens - this.#count - count : 0;
  }

  /** Appends tokens to the sequence and returns a sampler of the tokens that follow their rows; see {@link Scheduler.feed}. */
  async #compute(ids: readonly number[], draft: readonly number[], options: FeedOptions): Promise<RowSampler> {
    const { scheduler, sequence, sampler, history } = this.#context;
    if (sampler.kind === "host") {
      const { vocabSize } = scheduler;
      const logits = await scheduler.feed(sequence, ids, options);
      return (row) => sampler.sample(logits.subarray(row * vocabSize, (row + 1) * vocabSize));
    }
    const { sampling, masks } = sampler;
    const maskAfter = draft.length === 0 ? this.#maskAfter : undefined;
    const choice = { sampling, position: history.length, masks: masks?.(draft), maskAfter };
    const tokens = await scheduler.feedChoosing(sequence, ids, options, choice);
    return (row) => sampler.settle(tokens[row] ?? -1);
  }

  /** @param first samples the token after the prompt */
  async *tokens(first: RowSampler): AsyncGenerator<number, never, undefined> {
    let id = first(0);
    this.#count++;
    this.#length = this.#context.sequence.ids.length + 1;
    yield id;
    for (;;) {
      const start = performance.now();
      if (this.isFull) await this.#shift();
      const draft = await this.#draft();
      if (draft.length > 0) {
        for await (const next of this.#verify(id, draft, start)) {
          id = next;
          yield id;
        }
        continue;
      }
      const sampleNext = await this.computeLast([id]);
      id = sampleNext(0);
      this.#count++;
      this.#length++;
      this.decodeMs += performance.now() - start;
      yield id;
    }
  }

  /** Tokens that may follow `history`, as many as fit into one run, into the context and into the text. */
  async #draft(): Promise<readonly number[]> {
    const { scheduler, history, drafter, maxTokens } = this.#context;
    if (drafter === undefined) return [];
    const room = Math.min(scheduler.contextLength - this.#length, maxTokens - this.#count) - 1;
    return room < 1 ? [] : drafter.draft(history, Math.min(scheduler.maxVerifiedTokens - 1, room));
  }

  /**
   * Verifies a draft after the token `id` in one run. Yields the accepted tokens and then the token that replaces the first rejected one, or
   * follows the draft.
   */
  async *#verify(id: number, draft: readonly number[], start: number): AsyncGenerator<number, void, undefined> {
    const { scheduler, sequence, drafter, signal } = this.#context;
    const ids = [id, ...draft];
    await scheduler.unpark(sequence, signal);
    sequence.beginDraft();
    let computed = 0;
    let again: readonly number[] = [];
    try {
      const following = this.#following(ids.length);
      const sampleRow = await this.#compute(ids, draft, { rows: "all", isDraft: true, following, signal });
      this.draftedTokens += draft.length;
      computed = 1;
      for (let row = 0; row < ids.length; row++) {
        const next = sampleRow(row);
        this.#count++;
        this.#length++;
        this.decodeMs += performance.now() - start;
        const isAccepted = next === ids[row + 1];
        if (isAccepted) {
          this.acceptedTokens++;
          computed++;
        }
        yield next;
        if (!isAccepted) break;
        start = performance.now();
      }
    } finally {
      // Accepted tokens are computed. The token that was sampled after them is not.
      again = sequence.acceptDraft(ids, computed);
      drafter?.adapt(draft.length, Math.max(0, computed - 1));
    }
    if (again.length === 0) return;
    start = performance.now();
    await scheduler.feed(sequence, again, { rows: "none", signal });
    this.decodeMs += performance.now() - start;
  }

  /** Drops the older half of the tokens after the first `keep` ones, and computes the newer half at its new positions. */
  async #shift(): Promise<void> {
    const { sequence, scheduler, overflow, signal } = this.#context;
    const before = sequence.ids.length;
    const ids = shiftedIds(sequence.ids, overflow.keep);
    sequence.restart(ids);
    this.shiftedTokens += before - ids.length;
    await scheduler.feed(sequence, ids.slice(sequence.ids.length), { rows: "none", signal });
    this.#length = ids.length + 1;
  }
}
