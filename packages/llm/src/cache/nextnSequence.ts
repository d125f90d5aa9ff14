import { HeadSequence } from "./headSequence.ts";
import type { Sequence } from "./sequence.ts";

/**
 * A text as the block that predicts further tokens reads it: at position p the token at p + 1 of the model's text. The state that it leaves for
 * the next position is in the model's sequence, too.
 */
export class NextnSequence extends HeadSequence {
  /** Whether the text before the newest token is not computed. */
  readonly #sharesCache: boolean;
  /** Leading tokens that were computed with the model's own states. Those after them were a draft. */
  #count = 0;
  /** Tokens that are computed with the model's states once the draft's first run is over. */
  #pending = 0;
  #revision = -1;

  constructor(target: Sequence, contextLength: number, sharesCache = false) {
    super(target, contextLength);
    this.#sharesCache = sharesCache;
  }

  /** Position of the token that chooses the first token of the draft. */
  get draftStart(): number {
    return this.#pending - 1;
  }

  override begin(text: readonly number[]): readonly number[] {
    if (this.#revision !== this.revision) this.#count = 0;
    this.#revision = this.revision;
    this.#pending = text.length - 1;
    // The newest token is computed again, because its row chooses the first token of the draft.
    const kept = this.#sharesCache ? this.draftStart : Math.min(this.#count, this.draftStart);
    this.restart(text.slice(1, 1 + kept));
    return text.slice(1 + kept);
  }

  override end(): void {
    this.#count = Math.min(this.ids.length, this.#pending);
    this.restart(this.ids.slice(0, this.#count));
  }

  override reserveUntil(end: number): void {
    super.reserveUntil(end + 1);
  }
}
