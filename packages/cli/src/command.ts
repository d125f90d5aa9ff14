import type { OptionSpecs } from "./options.ts";

/** A command of `centella`. `run` writes its result to stdout and throws for everything that goes wrong. */
export interface Command {
  /** After `centella`, e.g. `run [FILE]`. */
  readonly usage: string;
  readonly summary: string;
  /** What a command's own help adds to the summary. */
  readonly details?: string;
  readonly options: OptionSpecs;
  run(args: readonly string[], signal: AbortSignal): Promise<void>;
}
