import type { OptionSpecs, OptionValues } from "./options.ts";
import type { Output } from "./output.ts";
import { UsageError } from "./usageError.ts";

/** What every command is given besides its arguments. */
export interface Context {
  /** Aborted by Ctrl-C and by SIGTERM. */
  readonly signal: AbortSignal;
  readonly output: Output;
}

/** A command of `centella`. */
export interface Command<S extends OptionSpecs = OptionSpecs> {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** The arguments as help shows them, e.g. `[FILE] [PROMPT]`. */
  readonly arguments: string;
  readonly summary: string;
  /** Further text of the command's own help. */
  readonly details?: string;
  readonly options: S;
  /** Writes the result to the output and throws for everything that goes wrong. */
  run(values: OptionValues<S>, positionals: readonly string[], context: Context): Promise<void>;
}

/** Types a command's `run` by its options. */
export function command<S extends OptionSpecs>(definition: Command<S>): Command {
  return definition;
}

/**
 * Names the positional arguments, which must be given, all of them and no more.
 * @throws {UsageError}
 */
export function requireArguments<const N extends readonly string[]>(
  name: string,
  expected: N,
  given: readonly string[],
): { readonly [K in keyof N]: string } {
  if (given.length !== expected.length) {
    const wanted = expected.length === 0 ? "no arguments" : expected.join(", ").replace(/, ([^,]*)$/, " and $1");
    throw new UsageError(`${name}: expected ${wanted}, got ${countOf(given.length)}; quote an argument that has spaces`);
  }
  return given as { readonly [K in keyof N]: string };
}

function countOf(count: number): string {
  return count === 1 ? "1 argument" : `${count === 0 ? "no" : count} arguments`;
}
