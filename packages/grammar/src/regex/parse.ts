import type { Meter } from "../budget.ts";
import { shown } from "../checks.ts";
import { GrammarError } from "../errors.ts";
import type { Pattern } from "./ast.ts";
import type { Flags } from "./classes.ts";
import type { Dialect } from "./dialect.ts";
import { RegexParser } from "./parser.ts";

/** How deeply groups and classes may be nested. The parser and what reads its result recurse that deep. */
const maxNesting = 250;
/** Estimated memory of the syntax tree for each character of the source. */
const bytesPerCharacter = 300;
/** Estimated steps of parsing, and of making an expression of the result: of each source, and of each of its characters. */
const stepsPerSource = 100;
const stepsPerCharacter = 40;

/**
 * Parses an expression. The JavaScript engine decides whether it is valid.
 *
 * @throws GrammarError for a source or flags that `RegExp` does not accept, for what is refused, and for groups that are nested too deeply
 */
export function parseRegex(source: string, letters: string, dialect: Dialect, meter: Meter): { pattern: Pattern; flags: Flags } {
  if (typeof source !== "string") throw new GrammarError("GRAMMAR_ARGUMENT", `fromRegex: expected a string, got ${shown(source)}`);
  const flags = parseFlags(letters);
  meter.charge(source.length * bytesPerCharacter);
  meter.work(stepsPerSource + source.length * stepsPerCharacter);
  checkNesting(source, flags);
  checkSyntax(source, flags);
  return { pattern: new RegexParser(source, flags.unicodeSets, dialect).pattern(), flags };
}

function checkSyntax(source: string, { unicodeSets }: Flags): void {
  try {
    new RegExp(source, unicodeSets ? "v" : "u");
  } catch (error) {
    const reason = (error as Error).message.split(": ").at(-1) as string;
    throw new GrammarError("GRAMMAR_SYNTAX", `fromRegex: expected a regular expression, got one that RegExp refuses: ${reason}`, {
      reason,
    });
  }
}

function parseFlags(letters: string): Flags {
  const isValid = typeof letters === "string" && /^[imsuv]*$/.test(letters) && new Set(letters).size === letters.length;
  if (!isValid || (letters.includes("u") && letters.includes("v")))
    throw new GrammarError(
      "GRAMMAR_ARGUMENT",
      `fromRegex: expected flags of "imsuv", each once and u or v but not both, got ${shown(letters)}`,
    );
  const [ignoreCase, multiline, dotAll, unicodeSets] = [..."imsv"].map((letter) => letters.includes(letter)) as [
    boolean,
    boolean,
    boolean,
    boolean,
  ];
  return { ignoreCase, multiline, dotAll, unicodeSets };
}

/** Counts brackets before the parser recurses. */
function checkNesting(source: string, { unicodeSets }: Flags): void {
  const open: string[] = [];
  for (const { 0: found, index } of source.matchAll(/\\.|[()[\]]/gsu)) {
    const isInClass = open.at(-1) === "[";
    if (found === "]" ? isInClass : found === ")" && !isInClass) open.pop();
    else if (found === "[" ? unicodeSets || !isInClass : found === "(" && !isInClass) open.push(found);
    if (open.length > maxNesting)
      throw new GrammarError(
        "GRAMMAR_BUDGET",
        `fromRegex: expected at most ${maxNesting} groups within one another, got more at column ${index + 1}; simplify the expression`,
        { column: index + 1 },
      );
  }
}
