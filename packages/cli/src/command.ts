import type { OptionSpecs, OptionValues } from "./options.ts";
import type { Output } from "./output.ts";
import { UsageError } from "./usageError.ts";

/** Environment of a command, apart from its arguments. */
export interface Context {
  /** Aborted by Ctrl-C, by SIGTERM, and when nothing reads stdout any more. */
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
  /** Text after the summary in the command's own help. */
  readonly details?: string;
  readonly options: S;
  /** Options of other tools without a counterpart here, and what to do instead. */
  readonly refused?: Readonly<Record<string, string>>;
  /** Writes the result to the output. Throws on every failure. */
  run(values: OptionValues<S>, positionals: readonly string[], context: Context): Promise<void>;
}

/** Types a command's `run` by its options. */
export function command<S extends OptionSpecs>(definition: Command<S>): Command {
  return definition;
}

/**
 * Returns the positional arguments. All are required.
 * @throws {UsageError} if there are fewer or more
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
