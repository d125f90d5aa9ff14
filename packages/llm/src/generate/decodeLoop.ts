import type { Sequence } from "../cache/sequence.ts";
import { requireChoice } from "../sampling/candidates.ts";
import type { FeedOptions, Scheduler } from "../scheduler/scheduler.ts";
import { type ResolvedOverflow, shiftedIds } from "./overflow.ts";
import { PromptLookup } from "./promptLookup.ts";

/** Chooses the token after a row that was computed, when `history` has all tokens before it. */
export type RowSampler = (row: number) => number;

/** What tokens are made with. */
export interface DecodeLoopContext {
  readonly scheduler: Scheduler;
  readonly sequence: Sequence;
  /** Ids so far; whoever takes a token adds it here before taking the next. */
  readonly history: readonly number[];
  /** Chooses the token that follows `history` by its logits; undefined: always the most likely one. */
  readonly sample: ((logits: Float32Array) => number) | undefined;
  readonly overflow: ResolvedOverflow;
  readonly promptLookup: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Chooses one token after another behind a prompt. The sequence is valid at every moment, and holds every token but the newest
 * when it is asked for another one.
 */
export class DecodeLoop {
  readonly #context: DecodeLoopContext;
  readonly #lookup: PromptLookup | undefined;
  readonly #draftLimit: number;
  decodeMs = 0;
  draftedTokens = 0;
  acceptedTokens = 0;
  /** Tokens that were left out of the context to make room. */
  shiftedTokens = 0;
  /** Tokens that the context holds, the newest one included. */
  #length = 0;

  constructor(context: DecodeLoopContext) {
    this.#context = context;
    this.#lookup = context.promptLookup > 0 ? new PromptLookup(context.promptLookup) : undefined;
    this.#draftLimit = context.scheduler.maxVerifiedTokens - 1;
  }

  /** Whether there is no room for another token. */
  get isFull(): boolean {
    return this.#length >= this.#context.scheduler.contextLength;
  }

  /** Appends tokens to the sequence and tells how to choose what follows them; see `Scheduler.feed`. */
  async compute(ids: readonly number[], options: FeedOptions): Promise<RowSampler> {
    const { scheduler, sequence, sample } = this.#context;
    const { vocabSize } = scheduler;
    if (sample === undefined) {
      const { ids: best, logits } = await scheduler.feedGreedy(sequence, ids, options);
      return (row) => requireChoice(best[row]!, logits[row]!, vocabSize);
    }
    const logits = await scheduler.feed(sequence, ids, options);
    return (row) => sample(logits.subarray(row * vocabSize, (row + 1) * vocabSize));
  }

  /** @param first chooses the token after the prompt */
  async *tokens(first: RowSampler): AsyncGenerator<number, never, undefined> {
    const { sequence, history, signal } = this.#context;
    let id = first(0);
    this.#length = sequence.ids.length + 1;
    yield id;
    for (;;) {
      const start = performance.now();
      if (this.isFull) await this.#shift();
      const room = this.#context.scheduler.contextLength - this.#length - 1;
      const draft = this.#lookup?.draft(history, Math.min(this.#draftLimit, room)) ?? [];
      if (draft.length > 0) {
        for await (const next of this.#check(id, draft, start)) {
          id = next;
          yield id;
        }
        continue;
      }
      id = (await this.compute([id], { rows: "last", signal }))(0);
      this.#length++;
      this.decodeMs += performance.now() - start;
      yield id;
    }
  }

  /** Chooses tokens as long as they are those that were guessed, and the first other one: all by the logits of one run. */
  async *#check(id: number, draft: readonly number[], start: number): AsyncGenerator<number, void, undefined> {
    const { scheduler, sequence, signal } = this.#context;
    const guesses = [id, ...draft];
    await scheduler.unpark(sequence, signal);
    sequence.beginDraft();
    let computed = 0;
    let again: readonly number[] = [];
    try {
      const choose = await this.compute(guesses, { rows: "all", isDraft: true, signal });
      this.draftedTokens += draft.length;
      computed = 1;
      for (let row = 0; row < guesses.length; row++) {
        const next = choose(row);
        this.#length++;
        this.decodeMs += performance.now() - start;
        const isGuessed = next === guesses[row + 1];
        if (isGuessed) {
          this.acceptedTokens++;
          computed++;
        }
        yield next;
        if (!isGuessed) break;
        start = performance.now();
      }
    } finally {
      // Guesses that came true are computed; what was chosen in the place of a wrong one is not.
      again = sequence.acceptDraft(guesses, computed);
      this.#lookup!.adapt(draft.length, Math.max(0, computed - 1));
    }
    if (again.length === 0) return;
    start = performance.now();
    await scheduler.feed(sequence, again, { rows: "none", signal });
    this.decodeMs += performance.now() - start;
  }

  /** Leaves out the older tokens behind the first ones and computes the rest again, as if the text had always been that. */
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
