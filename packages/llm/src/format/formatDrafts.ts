import type { Drafter } from "../generate/promptLookup.ts";

/** Where drafts under a format come from. */
export interface DraftSources {
  /** Whether to draft the tokens of forced text. */
  readonly forces: boolean;
  readonly lookup: Drafter | undefined;
}

/** What a format says about the tokens that come next. */
export interface NextTokens {
  /** The tokens of the text that must come next. @param last the last token of the text */
  forced(last: number): readonly number[];
  /** As many of the tokens as the format allows after one another. */
  allowed(ids: readonly number[]): readonly number[];
  /** As many of the forced tokens as are the only ones that the format allows in their places. */
  certain(ids: readonly number[]): readonly number[];
}

/** Most drafts of forced text that are passed over after one that was rejected. */
const longestPause = 63;

/**
 * Drafts the tokens of text that a format forces, else those of prompt lookup that the format allows. Which text comes next is certain, but a
 * model may cut it into other tokens than the tokenizer. One that does is asked less and less often.
 */
export class FormatDrafts implements Drafter {
  readonly #next: NextTokens;
  readonly #sources: DraftSources;
  /** What the last draft was made of. */
  #kind: "forced" | "certain" | "lookup" = "lookup";
  /** Drafts to pass over after the next rejection, and now. */
  #pause = 0;
  #left = 0;

  constructor(next: NextTokens, sources: DraftSources) {
    this.#next = next;
    this.#sources = sources;
  }

  draft(history: readonly number[], room: number): readonly number[] {
    const forced = this.#forced(history.at(-1) as number).slice(0, room);
    if (forced.length > 0) return forced;
    this.#kind = "lookup";
    return this.#next.allowed(this.#sources.lookup?.draft(history, room) ?? []);
  }

  adapt(drafted: number, accepted: number): void {
    if (this.#kind === "lookup") this.#sources.lookup?.adapt(drafted, accepted);
    if (this.#kind !== "forced") return;
    if (accepted === drafted) this.#pause = 0;
    else if (accepted === 0) {
      this.#pause = Math.min(2 * this.#pause + 1, longestPause);
      this.#left = this.#pause;
    }
  }

  #forced(last: number): readonly number[] {
    if (!this.#sources.forces) return [];
    const forced = this.#next.forced(last);
    this.#kind = "forced";
    if (forced.length === 0 || this.#left === 0) return forced;
    this.#left--;
    this.#kind = "certain";
    return this.#next.certain(forced);
  }
}
