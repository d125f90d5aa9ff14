import { ProgramError } from "@centella/core";
import type { RunSequence } from "../scheduler/request.ts";
import type { Sequence } from "./sequence.ts";

/** A text as a head reads it that drafts by the model's states. Its keys and values are in slots of the model's sequence. */
export abstract class HeadSequence implements RunSequence {
  readonly encoded = undefined;
  readonly adapters = undefined;
  protected readonly target: Sequence;
  protected readonly contextLength: number;
  #ids: number[] = [];

  constructor(target: Sequence, contextLength: number) {
    this.target = target;
    this.contextLength = contextLength;
  }

  /** Begins a draft after a text. Returns the tokens that are to be appended. */
  abstract begin(text: readonly number[]): readonly number[];

  /** Ends a draft: what it has appended is dropped. */
  abstract end(): void;

  get ids(): readonly number[] {
    return this.#ids;
  }

  get revision(): number {
    return this.target.revision;
  }

  get isParked(): boolean {
    return this.target.isParked;
  }

  /** @throws {ProgramError} because a head has no recurrent state */
  get stateRow(): number {
    throw new ProgramError("sequence: expected a recurrent model, got a head without recurrent states");
  }

  append(ids: readonly number[]): void {
    this.#ids.push(...ids);
  }

  beginDraft(): void {
    // Nothing is computed that could not be computed again.
  }

  reserveUntil(end: number): void {
    this.target.reserveBlocks(Math.min(end, this.contextLength));
  }

  slotOf(position: number): number {
    return this.target.slotOf(position);
  }

  blockOf(position: number): number {
    return this.target.blockOf(position);
  }

  writeBlocks(table: Int32Array, offset: number): void {
    this.target.writeBlocks(table, offset);
  }

  checkCache(): void {
    this.target.checkCache();
  }

  async unpark(): Promise<readonly number[]> {
    throw new ProgramError("sequence: expected a sequence that holds its blocks, got one that is parked");
  }

  restart(prefix: readonly number[]): void {
    this.#ids = [...prefix];
  }
}
