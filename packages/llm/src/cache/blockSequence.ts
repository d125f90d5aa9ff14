import { HeadSequence } from "./headSequence.ts";
import type { Sequence } from "./sequence.ts";

/** A text as a head reads it that fills in masked tokens after the newest one. The model has computed the keys and values of the text before. */
export class BlockSequence extends HeadSequence {
  readonly #masks: readonly number[];

  /** @param masks the masked tokens */
  constructor(target: Sequence, contextLength: number, masks: readonly number[]) {
    super(target, contextLength);
    this.#masks = masks;
  }

  override begin(text: readonly number[]): readonly number[] {
    this.restart(text.slice(0, -1));
    return [...text.slice(-1), ...this.#masks];
  }

  override end(): void {
    this.restart([]);
  }
}
