import { ProgramError } from "@centella/core";
import type { RunSequence } from "../scheduler/request.ts";
import type { Sequence } from "./sequence.ts";

/**
 * A text as the block that predicts further tokens reads it: at position p the token at p + 1 of the model's text. Its keys and values are in slots of
 * the model's sequence. So is the state that it leaves for the next position.
 */
export class NextnSequence implements RunSequence {
  readonly encoded = undefined;
  readonly #target: Sequence;
  readonly #contextLength: number;
  /** Whether the text before the newest token is not computed. */
  readonly #sharesCache: boolean;
  #ids: number[] = [];
  /** Leading tokens that were computed with the model's own states. Those after them were a draft. */
  #count = 0;
  /** Tokens that are computed with the model's states once the draft's first run is over. */
  #pending = 0;
  #revision = -1;

  constructor(target: Sequence, contextLength: number, sharesCache = false) {
    this.#target = target;
    this.#contextLength = contextLength;
    this.#sharesCache = sharesCache;
  }

  get ids(): readonly number[] {
    return this.#ids;
  }

  get revision(): number {
    return this.#target.revision;
  }

  get isParked(): boolean {
    return this.#target.isParked;
  }

  /** @throws {ProgramError} because the block has no recurrent state */
  get stateRow(): number {
    throw new ProgramError("sequence: expected a recurrent model, got a block without recurrent states");
  }

  /** Position of the token that chooses the first token of the draft. */
  get draftStart(): number {
    return this.#pending - 1;
  }

  /** Begins a draft after a text. Returns the tokens of the text that are to be appended. */
  begin(text: readonly number[]): readonly number[] {
    if (this.#revision !== this.revision) this.#count = 0;
    this.#revision = this.revision;
    this.#pending = text.length - 1;
    // The newest token is computed again, because its row chooses the first token of the draft.
    const kept = this.#sharesCache ? this.draftStart : Math.min(this.#count, this.draftStart);
    this.#ids = text.slice(1, 1 + kept);
    return text.slice(1 + kept);
  }

  /** Ends a draft: what it has appended is dropped. */
  end(): void {
    this.#count = Math.min(this.#ids.length, this.#pending);
    this.#ids.length = this.#count;
  }

  append(ids: readonly number[]): void {
    this.#ids.push(...ids);
  }

  beginDraft(): void {
    // Nothing is computed that could not be computed again.
  }

  reserveUntil(end: number): void {
    this.#target.reserveBlocks(Math.min(end + 1, this.#contextLength));
  }

  slotOf(position: number): number {
    return this.#target.slotOf(position);
  }

  blockOf(position: number): number {
    return this.#target.blockOf(position);
  }

  writeBlocks(table: Int32Array, offset: number): void {
    this.#target.writeBlocks(table, offset);
  }

  checkCache(): void {
    this.#target.checkCache();
  }

  async unpark(): Promise<readonly number[]> {
    throw new ProgramError("sequence: expected a sequence that holds its blocks, got one that is parked");
  }

  restart(prefix: readonly number[]): void {
    this.#ids = [...prefix];
  }
}
