import { lastOf } from "@centella/quant/checks";
import type { Drafter } from "../generate/drafter.ts";

/** Where drafts under a format come from. */
export interface DraftSources {
  /** Whether to draft the tokens of forced text. */
  readonly forces: boolean;
  /** Drafts where nothing is forced. */
  readonly other: Drafter | undefined;
  /** Number of sequences that share a run. */
  readonly sequences: () => number;
  /** Whether tokens under masks are computed ahead. Default: they are not. */
  readonly isAhead?: () => boolean;
}

/** What a format says about the tokens that come next. */
export interface NextTokens {
  /** The bytes that must come next. */
  forced(): Uint8Array;
  /** Whether bytes are certain to come after the token `id`, if it comes next. */
  isForcedAfter(id: number): boolean;
  /** The tokens into which the tokenizer cuts forced bytes. @param last the token before them */
  cut(bytes: Uint8Array, last: number): readonly number[];
  /** As many of the tokens as spell a beginning of the bytes. */
  spelling(ids: readonly number[], bytes: Uint8Array): readonly number[];
  /** As many of the tokens as the format allows after one another. */
  allowed(ids: readonly number[]): readonly number[];
  /** Up to `room` next tokens, each the only one that the format allows in its place. */
  certain(room: number): readonly number[];
}

const noBytes = new Uint8Array(0);
const firstLength = 8;
/** Rows up to which a run takes little longer than with one. Drafts beyond them save runs but no time. */
const cheapRows = 8;
/** Most drafts of forced text that are passed over after one that was rejected. */
const longestPause = 63;

/**
 * Drafts the tokens of text that a format forces, else those of another drafter that the format allows. Which text comes next is certain, but a
 * model may cut it into other tokens than the tokenizer. What was forced before is cut as it was then. A model that rejects drafts all the same
 * is asked less and less often.
 */
export class FormatDrafts implements Drafter {
  readonly #next: NextTokens;
  readonly #sources: DraftSources;
  /** What the last draft was made of. */
  #kind: "forced" | "certain" | "other" = "other";
  /** Most tokens of a draft: more after drafts that were accepted, fewer after those that were not. */
  #length = firstLength;
  /** Drafts to pass over after the next rejection, and now. */
  #pause = 0;
  #left = 0;
  /** Where forced bytes began in the text when they were forced last. */
  readonly #places = new Map<string, number>();

  constructor(next: NextTokens, sources: DraftSources) {
    this.#next = next;
    this.#sources = sources;
  }

  async draft(history: readonly number[], room: number): Promise<readonly number[]> {
    const forced = this.#forced(history, room);
    if (forced.length > 0) return forced;
    this.#kind = "other";
    return this.#next.allowed((await this.#sources.other?.draft(history, room)) ?? []);
  }

  adapt(drafted: number, accepted: number): void {
    if (this.#kind === "other") this.#sources.other?.adapt(drafted, accepted);
    if (this.#kind !== "forced") return;
    this.#length = accepted === drafted ? Math.max(this.#length, 2 * drafted) : accepted + 1;
    if (accepted === drafted) this.#pause = 0;
    else if (accepted === 0) {
      this.#pause = Math.min(2 * this.#pause + 1, longestPause);
      this.#left = this.#pause;
    }
  }

  mayDraftAfter(id: number): boolean {
    return this.#sources.other !== undefined || (this.#forces && this.#next.isForcedAfter(id));
  }

  /** Whether to draft forced text now. Where tokens are computed ahead, a draft that is not cheap would hold up all sequences of a run. */
  get #forces(): boolean {
    const { forces, isAhead } = this.#sources;
    return forces && (this.#room > 0 || isAhead?.() !== true);
  }

  /** Number of tokens that each sequence of a run can draft at little cost. */
  get #room(): number {
    return Math.floor(cheapRows / this.#sources.sequences()) - 1;
  }

  #forced(history: readonly number[], room: number): readonly number[] {
    const bytes = this.#forces ? this.#next.forced() : noBytes;
    if (bytes.length === 0) return [];
    const key = bytes.join();
    const place = this.#places.get(key);
    this.#places.set(key, history.length);
    const length = Math.min(room, this.#length, this.#room);
    if (this.#left > 0 || length < 1) {
      if (this.#left > 0) this.#left--;
      this.#kind = "certain";
      return this.#next.certain(room);
    }
    this.#kind = "forced";
    const again = place === undefined ? [] : this.#next.spelling(history.slice(place, place + bytes.length), bytes);
    return (again.length > 0 ? again : this.#next.cut(bytes, lastOf(history))).slice(0, length);
  }
}
