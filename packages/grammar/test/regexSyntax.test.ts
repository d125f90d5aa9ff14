import { type AST, RegExpParser } from "@eslint-community/regexpp";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Meter } from "../src/budget.ts";
import { GrammarError } from "../src/index.ts";
import type { Node } from "../src/regex/ast.ts";
import { ecmaScript } from "../src/regex/dialect.ts";
import { parseRegex } from "../src/regex/parse.ts";

/** What both parsers say of a part of an expression: its kind, what it depends on, and its text. */
type Form = readonly unknown[];

/** What `fromRegex` refuses by name. */
class Refused extends Error {}

function formOf(node: Node): Form {
  const form = (...rest: Form): Form => [node.type, ...rest, node.raw];
  switch (node.type) {
    case "Pattern":
      return form(node.alternatives.map(({ elements }) => elements.map(formOf)));
    case "Group":
      return form(
        node.modifiers,
        node.alternatives.map(({ elements }) => elements.map(formOf)),
      );
    case "Quantifier":
      return form(node.min, node.max, node.greedy, formOf(node.element));
    case "Assertion":
      return form(node.kind, node.negate);
    case "Character":
      return form(node.value);
    case "CharacterSet":
      return form(node.kind, node.negate);
    case "CharacterClass":
      return form(node.negate, node.elements.map(formOf));
    case "CharacterRange":
      return form(node.first, node.last);
    case "ClassOperation":
      return form(node.operator, node.operands.map(formOf));
    case "ClassStrings":
      return form(node.strings);
  }
}

function lettersOf(flags: AST.ModifierFlags | null | undefined): string {
  return `${flags?.ignoreCase ? "i" : ""}${flags?.multiline ? "m" : ""}${flags?.dotAll ? "s" : ""}`;
}

/** The same of regexpp's tree. @throws {Refused} */
function peerFormOf(node: AST.Node): Form {
  const form = (type: string, ...rest: Form): Form => [type, ...rest, node.raw];
  const inner = (alternatives: readonly AST.Alternative[]) => alternatives.map(({ elements }) => elements.map(peerFormOf));
  switch (node.type) {
    case "Pattern":
      return form("Pattern", inner(node.alternatives));
    case "Group":
      return form("Group", { add: lettersOf(node.modifiers?.add), remove: lettersOf(node.modifiers?.remove) }, inner(node.alternatives));
    case "CapturingGroup":
      return form("Group", { add: "", remove: "" }, inner(node.alternatives));
    case "Quantifier":
      return form("Quantifier", node.min, node.max, node.greedy, peerFormOf(node.element));
    case "Assertion":
      if (node.kind === "lookahead" || node.kind === "lookbehind") throw new Refused(node.kind);
      return form("Assertion", node.kind, node.kind === "word" && node.negate);
    case "Character":
      return form("Character", node.value);
    case "CharacterSet":
      return form("CharacterSet", node.kind, node.kind !== "any" && node.negate);
    case "CharacterClass":
      return form("CharacterClass", node.negate, node.elements.map(peerFormOf));
    case "CharacterClassRange":
      return form("CharacterRange", node.min.value, node.max.value);
    case "ExpressionCharacterClass":
      return form("CharacterClass", node.negate, [peerFormOf(node.expression)]);
    case "ClassIntersection":
    case "ClassSubtraction":
      return form("ClassOperation", node.type === "ClassIntersection" ? "&&" : "--", operandsOf(node).map(peerFormOf));
    case "ClassStringDisjunction":
      return form(
        "ClassStrings",
        node.alternatives.map(({ elements }) => elements.map(({ value }) => value)),
      );
    default:
      throw new Refused(node.type);
  }
}

function operandsOf({ left, right, type }: AST.ClassIntersection | AST.ClassSubtraction): readonly AST.Node[] {
  return [...(left.type === type ? operandsOf(left) : [left]), right];
}

function outcome<T>(work: () => T): T | "invalid" | "refused" {
  try {
    return work();
  } catch (error) {
    if (error instanceof SyntaxError) return "invalid";
    if (error instanceof Refused) return "refused";
    if (error instanceof GrammarError) return error.code === "GRAMMAR_SYNTAX" ? "invalid" : "refused";
    throw error;
  }
}

function compare(source: string, flag: "u" | "v"): "invalid" | "refused" | Form {
  const flags = { unicode: flag === "u", unicodeSets: flag === "v" };
  const expected = outcome(() => peerFormOf(new RegExpParser().parsePattern(source, 0, source.length, flags)));
  const got = outcome(() => formOf(parseRegex(source, flag, ecmaScript, new Meter()).pattern));
  expect(got, `${source} with flag ${flag}`).toEqual(expected);
  return expected;
}

const flags = ["u", "v"] as const;

test.each(flags)("expressions are read as by regexpp with flag %s", (flag) => {
  // prettier-ignore
  const sources = [
    "",
    "a|b||",
    "(a)(?:b)(?<n>c)",
    "a{2}b{3,}c{4,5}d*e+f?g*?h+?i??j{2}?k{1,2}?",
    "^a$|\\bc\\B",
    "(?i:a(?-i:b))(?ims:c)(?i-ms:d)(?-s:e)",
    "\\n\\t\\v\\f\\r\\0\\cA\\x41\\u0041\\u{1f600}\\ud83d\\ude00\\ud83d",
    "\\^\\$\\\\\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\/",
    ".\\d\\D\\s\\S\\w\\W\\p{Lu}\\P{Script=Greek}\\p{L}",
    "[a-z][^a-z][][^]",
    "[\\b\\-\\]a-]",
    "[\\w-]",
    "[--0]",
    "[+--]",
    "[\\u{61}-\\u{7a}]",
    "[\\d\\p{L}]",
    "[[a-z]&&[aeiou]&&\\w]",
    "[a--b]",
    "[\\q{abc|d|}a]",
    "[[a][^b]]",
    "[a-z&&[^aeiou]]",
    "[\\w--\\d--_]",
    "😀{2}",
    "[😀-😂]",
    "(?=a)",
    "(?!a)",
    "(?<=a)",
    "(?<!a)",
    "(a)\\1",
    "(?<n>a)\\k<n>",
    "\\p{RGI_Emoji}",
    "a(",
    "a)",
    "[",
    "a{",
    "}",
    "]",
    "*",
    "\\",
    "\\q",
    "[b-a]",
    "a{2,1}",
    "(?i-i:a)",
    "(?<n>a)(?<n>b)",
    "(?<n>a)|(?<n>b)",
    "\\p{No}",
    "\\p{Nope}",
    "[a&&&b]",
    "[(]",
    "(?<\\u{61}>a)",
  ];
  const outcomes = sources.map((source) => compare(source, flag));
  expect(outcomes.filter((each) => each === "invalid").length).toBeGreaterThan(10);
  expect(outcomes.filter((each) => each === "refused").length).toBeGreaterThan(4);
  expect(outcomes.filter((each) => typeof each === "object").length).toBeGreaterThan(15);
});

/** Pieces that give valid expressions often enough. */
// prettier-ignore
const pieces = [
  "a",
  "b",
  "é",
  "😀",
  "-",
  "-",
  "1",
  ",",
  "&&",
  "--",
  "|",
  "(",
  "(",
  "(?:",
  "(?i:",
  "(?<n>",
  ")",
  ")",
  ")",
  "[",
  "[",
  "[^",
  "]",
  "]",
  "]",
  "{2}",
  "{1,}",
  "*",
  "+",
  "?",
  ".",
  "^",
  "$",
  "\\b",
  "\\B",
  "\\d",
  "\\W",
  "\\s",
  "\\p{Lu}",
  "\\P{L}",
  "\\q{a|bc}",
  "\\q{",
  "}",
  "{",
  "\\u{62}",
  "\\u0063",
  "\\x64",
  "\\cJ",
  "\\0",
  "\\n",
  "\\-",
  "\\/",
  "\\]",
  "(?=",
  "\\1",
  "\\k<n>",
];

test.each(flags)("random expressions are read as by regexpp with flag %s", (flag) => {
  let [valid, invalid] = [0, 0];
  const random = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 8 }).map((parts) => parts.join(""));
  const run = (source: string): void => {
    if (compare(source, flag) === "invalid") invalid++;
    else valid++;
  };
  fc.assert(fc.property(random, run), { seed: 7, numRuns: 3000 });
  expect(Math.min(valid, invalid)).toBeGreaterThan(300);
});
