import { parseArgs } from "node:util";
import { UsageError } from "./usageError.ts";

/** One option of a command. `parse` turns its text into a value or throws a {@link UsageError}. */
export interface OptionSpec<T> {
  readonly short?: string;
  /** What help calls the value; absent for a flag. */
  readonly value?: string;
  readonly help: string;
  /** It may be given several times: `parse` turns each text into a list, and the lists are joined. */
  readonly isRepeated?: true;
  readonly parse: (text: string, name: string) => T;
}

/** The options of a command by name. */
export type OptionSpecs = Readonly<Record<string, OptionSpec<unknown>>>;

/** The parsed options of a command: those that were given. */
export type OptionValues<S extends OptionSpecs> = { readonly [K in keyof S]?: S[K] extends OptionSpec<infer T> ? T : never };

export const flag = (help: string): OptionSpec<true> => ({ help, parse: () => true });

export const text = (value: string, help: string, short?: string): OptionSpec<string> => ({
  value,
  help,
  ...(short === undefined ? {} : { short }),
  parse: (given) => given,
});

export const number = (
  value: string,
  help: string,
  {
    min,
    max = Number.POSITIVE_INFINITY,
    integer = false,
    short,
  }: { readonly min: number; readonly max?: number; readonly integer?: boolean; readonly short?: string },
): OptionSpec<number> => ({
  value,
  help,
  ...(short === undefined ? {} : { short }),
  parse(given, name) {
    const parsed = given.trim() === "" ? Number.NaN : Number(given);
    if (!(parsed >= min && parsed <= max) || (integer && !Number.isSafeInteger(parsed))) {
      const kind = integer ? "a whole number" : "a number";
      throw new UsageError(
        `--${name}: expected ${kind} ${max === Number.POSITIVE_INFINITY ? `from ${min}` : `from ${min} to ${max}`}, got ${given}`,
      );
    }
    return parsed;
  },
});

/** A number, or a word that stands for one. */
export const numberOr = <W extends string>(word: W, of: OptionSpec<number>): OptionSpec<number | W> => ({
  ...of,
  value: `${of.value}|${word}`,
  parse: (given, name) => (given === word ? word : of.parse(given, name)),
});

/** An option that may be given several times. */
export const repeated = <T>(value: string, help: string, parseOne: (given: string, name: string) => T): OptionSpec<readonly T[]> => ({
  value,
  help: `${help}; may be given several times`,
  isRepeated: true,
  parse: (given, name) => [parseOne(given, name)],
});

export const choice = <T extends string>(choices: readonly T[], help: string): OptionSpec<T> => ({
  value: choices.join("|"),
  help,
  parse(given, name) {
    const found = choices.find((one) => one === given);
    if (found === undefined) throw new UsageError(`--${name}: expected one of ${choices.join(", ")}, got ${given}`);
    return found;
  },
});

/** Splits a command's arguments. @throws {UsageError} for an unknown option, a missing or a bad value */
export function parseOptions<S extends OptionSpecs>(
  specs: S,
  args: readonly string[],
): { readonly values: OptionValues<S>; readonly positionals: readonly string[] } {
  const options = Object.fromEntries(
    Object.entries(specs).map(([name, { value, short, isRepeated = false }]) => [
      name,
      {
        type: value === undefined ? ("boolean" as const) : ("string" as const),
        multiple: isRepeated,
        ...(short === undefined ? {} : { short }),
      },
    ]),
  );
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? oneSentence(error.message) : String(error));
  }
  const parse = (name: string, given: unknown): unknown =>
    Array.isArray(given) ? given.flatMap((one) => specs[name]!.parse(String(one), name)) : specs[name]!.parse(String(given), name);
  const values = Object.fromEntries(Object.entries(parsed.values).map(([name, given]) => [name, parse(name, given)]));
  return { values: values as OptionValues<S>, positionals: parsed.positionals };
}

/** What Node says of a wrong command line, without its essays. */
function oneSentence(message: string): string {
  const [, ambiguous] = /^Option '([^']+)' argument is ambiguous/.exec(message) ?? [];
  if (ambiguous === undefined) return message.split(". To specify")[0]!;
  return `${ambiguous}: expected a value, got what looks like another option; write ${ambiguous}${ambiguous.startsWith("--") ? "=" : ""}VALUE if it is meant`;
}

/** The option part of a command's help. */
export function formatOptions(specs: OptionSpecs): string {
  const rows = Object.entries(specs).map(([name, { short, value, help }]) => {
    const left = `${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
    return [left, help] as const;
  });
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, help]) => `  ${left.padEnd(width)}  ${help}`).join("\n");
}
