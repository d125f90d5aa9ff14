import { UsageError } from "./usageError.ts";

/** Other ways to write an option. */
export interface Spelling {
  /** One letter: `n` for `-n`. */
  readonly short?: string;
  /** Spellings of other tools, as typed: `--ctx-size`, `-ngl`. */
  readonly aliases?: readonly string[];
}

/** One option of a command: the source of parsing, help, suggestions and shell completion. */
export interface OptionSpec<T> extends Spelling {
  /** Name of the value in help; absent for a flag. */
  readonly value?: string;
  readonly help: string;
  /** Heading in help. */
  readonly group?: string;
  /** All accepted values, if they can be listed. */
  readonly choices?: readonly string[];
  /** Whether the option may be given several times. `parse` then returns a list for each text, and the lists are joined. */
  readonly isRepeated?: true;
  /** @throws {UsageError} */
  readonly parse: (text: string, name: string) => T;
}

/** The options of a command by name. */
export type OptionSpecs = Readonly<Record<string, OptionSpec<unknown>>>;

/** The given options, parsed. */
export type OptionValues<S extends OptionSpecs> = { readonly [K in keyof S]?: S[K] extends OptionSpec<infer T> ? T : never };

export const flag = (help: string, spelling: Spelling = {}): OptionSpec<true> => ({ help, ...spelling, parse: () => true });

export const text = (value: string, help: string, spelling: Spelling = {}): OptionSpec<string> => ({
  value,
  help,
  ...spelling,
  parse: (given) => given,
});

/** Bounds of a number that the library does not check. */
export interface NumberBounds {
  readonly min?: number;
  readonly max?: number;
  readonly integer?: boolean;
}

export const number = (
  value: string,
  help: string,
  { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, integer = false, ...spelling }: NumberBounds & Spelling = {},
): OptionSpec<number> => ({
  value,
  help,
  ...spelling,
  parse(given, name) {
    const parsed = given.trim() === "" ? Number.NaN : Number(given);
    if (!(parsed >= min && parsed <= max) || (integer && !Number.isSafeInteger(parsed)))
      throw new UsageError(`--${name}: expected ${integer ? "a whole number" : "a number"}${rangeOf(min, max)}, got ${given}`);
    return parsed;
  },
});

function rangeOf(min: number, max: number): string {
  if (min === Number.NEGATIVE_INFINITY) return "";
  return max === Number.POSITIVE_INFINITY ? ` from ${min}` : ` from ${min} to ${max}`;
}

/** An option that takes a number or the word `word`. */
export const numberOr = <W extends string>(word: W, of: OptionSpec<number>): OptionSpec<number | W> => ({
  ...of,
  value: `${of.value}|${word}`,
  parse: (given, name) => (given === word ? word : of.parse(given, name)),
});

/** An option that may be given several times. */
export const repeated = <T>(
  value: string,
  help: string,
  parseOne: (given: string, name: string) => T,
  spelling: Spelling = {},
): OptionSpec<readonly T[]> => ({
  value,
  help: `${help}; may be given several times`,
  ...spelling,
  isRepeated: true,
  parse: (given, name) => [parseOne(given, name)],
});

export const choice = <T extends string>(choices: readonly T[], help: string, spelling: Spelling = {}): OptionSpec<T> => ({
  value: choices.join("|"),
  help,
  choices,
  ...spelling,
  parse(given, name) {
    const found = choices.find((one) => one === given);
    if (found === undefined) throw new UsageError(`--${name}: expected one of ${choices.join(", ")}, got ${given}`);
    return found;
  },
});

/** Returns the options under a heading of the help. */
export function grouped<S extends OptionSpecs>(group: string, specs: S): S {
  // `fromEntries` forgets the keys, which stay the same.
  return Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, { ...spec, group }])) as unknown as S;
}

/**
 * Replaces the spellings of other tools by the option's name, up to `--`. Values of options are not changed.
 * @throws {UsageError} for an option in `refused`
 */
export function canonicalArguments(
  specs: OptionSpecs,
  args: readonly string[],
  refused: Readonly<Record<string, string>> = {},
): readonly string[] {
  const names = new Map<string, string>();
  /** Options whose value is the next argument. */
  const valued = new Set<string>();
  for (const [name, { aliases = [], short, value }] of Object.entries(specs)) {
    for (const alias of aliases) names.set(alias, `--${name}`);
    if (value === undefined) continue;
    valued.add(`--${name}`);
    if (short !== undefined) valued.add(`-${short}`);
  }
  const out: string[] = [];
  let isValue = false;
  for (const [i, arg] of args.entries()) {
    if (isValue) {
      isValue = false;
      out.push(arg);
      continue;
    }
    if (arg === "--") return [...out, ...args.slice(i)];
    const equals = arg.startsWith("-") ? arg.indexOf("=") : -1;
    const spelling = equals < 0 ? arg : arg.slice(0, equals);
    if (Object.hasOwn(refused, spelling))
      throw new UsageError(`${spelling}: expected an option with a counterpart here, got one without; ${refused[spelling]}`);
    const name = names.get(spelling) ?? spelling;
    out.push(equals < 0 ? name : name + arg.slice(equals));
    isValue = equals < 0 && valued.has(name);
  }
  return out;
}
