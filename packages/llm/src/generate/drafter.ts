/** Proposes tokens that may follow a text, to be verified in one run. */
export interface Drafter {
  /** Up to `room` tokens that may follow `history`; often none. @throws errors of a draft model; the signal's reason */
  draft(history: readonly number[], room: number): readonly number[] | Promise<readonly number[]>;
  /** Takes note of how many tokens of the last draft were accepted. */
  adapt(drafted: number, accepted: number): void;
  /** Whether it may draft tokens after `id`, the token that comes next in the text. Default: it may. */
  mayDraftAfter?(id: number): boolean;
}
