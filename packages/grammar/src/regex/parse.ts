import { type AST, RegExpParser, RegExpSyntaxError, visitRegExpAST } from "@eslint-community/regexpp";
import type { Meter } from "../budget.ts";
import { GrammarError } from "../errors.ts";
import type { Flags } from "./classes.ts";
import type { Dialect } from "./dialect.ts";

/** A parsed expression. */
export type ParsedRegex = {
  pattern: AST.Pattern;
  flags: Flags;
  /** The assertions, and all nodes that contain one. */
  asserting: ReadonlySet<AST.Node>;
};

/** How deeply groups and classes may be nested. The parser and what reads its result recurse that deep. */
const maxNesting = 250;
/** Estimated memory of the syntax tree for each character of the source. */
const bytesPerCharacter = 300;
const parser = new RegExpParser({ ecmaVersion: 2025 });

/** @throws GrammarError for a source or flags that `RegExp` does not accept, and for groups that are nested too deeply. */
export function parseRegex(source: string, letters: string, dialect: Dialect, meter: Meter): ParsedRegex {
  if (typeof source !== "string") throw new GrammarError("GRAMMAR_ARGUMENT", `fromRegex: expected a string, got ${typeof source}`);
  const flags = parseFlags(letters);
  meter.charge(source.length * bytesPerCharacter);
  checkNesting(source, flags);
  const pattern = parsePattern(source, flags);
  const asserting = new Set<AST.Node>();
  const check = (node: Parameters<NonNullable<Dialect["refused"]>>[0]) => {
    const refused = dialect.refused?.(node);
    if (refused !== undefined) throw refusal(node, refused);
  };
  visitRegExpAST(pattern, {
    onAssertionEnter(node) {
      if (node.kind === "lookahead" || node.kind === "lookbehind") throw refusal(node, node.kind);
      check(node);
      for (let outer: AST.Node | null = node; outer !== null && !asserting.has(outer); outer = outer.parent) asserting.add(outer);
    },
    onBackreferenceEnter(node) {
      throw refusal(node, "backreference");
    },
    onQuantifierEnter: check,
    onCharacterClassEnter: check,
  });
  return { pattern, flags, asserting };
}

function parsePattern(source: string, { unicodeSets }: Flags): AST.Pattern {
  try {
    return parser.parsePattern(source, undefined, undefined, { unicode: !unicodeSets, unicodeSets });
  } catch (error) {
    if (!(error instanceof RegExpSyntaxError)) throw error;
    const [reason, column] = [error.message.split(": ").at(-1) as string, error.index + 1];
    throw new GrammarError("GRAMMAR_SYNTAX", `fromRegex: expected a regular expression, got ${reason} at column ${column}`, {
      reason,
      column,
    });
  }
}

function parseFlags(letters: string): Flags {
  const isValid = typeof letters === "string" && /^[imsuv]*$/.test(letters) && new Set(letters).size === letters.length;
  if (!isValid || (letters.includes("u") && letters.includes("v")))
    throw new GrammarError("GRAMMAR_ARGUMENT", `fromRegex: expected flags of "imsuv", each once and u or v but not both, got ${letters}`);
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

const maxShown = 40;

/** The error for a part of a valid expression that cannot be enforced. */
export function refusal({ start, raw }: AST.Node, keyword: string): GrammarError {
  const shown = raw.length > maxShown ? `${raw.slice(0, maxShown)}…` : raw;
  const message = `fromRegex: expected an expression without ${keyword}, got ${shown} at column ${start + 1}`;
  return new GrammarError("GRAMMAR_UNSUPPORTED", message, { keyword, column: start + 1 });
}
