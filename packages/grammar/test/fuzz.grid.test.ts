import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Budget, compile, fromGbnf, fromLark, fromRegex, type Grammar, GrammarError, type Matcher, vocabulary } from "../src/index.ts";
import { isWholeGrid } from "./grid.ts";

const bytesOfAllTokens = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
const allBytes = vocabulary([...bytesOfAllTokens, new Uint8Array()], { endIds: [256] });
const budget = { steps: 1e6, bytes: 2 ** 24 };

/** Compiles a grammar and takes up to 20 allowed bytes, chosen by `choose`, checking that what the mask allows is accepted. */
function walk(grammar: Grammar, choose: (count: number) => number, limits: Budget): Matcher {
  const matcher = compile(grammar, allBytes, { budget: limits }).matcher();
  const mask = new Uint32Array(allBytes.maskWords);
  for (let i = 0; i < 20; i++) {
    matcher.mask(mask);
    const allowed = bytesOfAllTokens.flatMap((_, id) => ((mask[id >> 5] as number) & (1 << (id & 31)) ? [id] : []));
    if (allowed.length === 0) {
      expect(matcher.isComplete).toBe(true);
      break;
    }
    expect(matcher.accept(allowed[choose(allowed.length)] as number)).toBe(true);
  }
  return matcher;
}

/** Runs a front end on a source: a grammar that can be used, or a GrammarError. */
function expectGrammarOrError(read: (source: string) => Grammar, source: string, seed: number, limits: Budget = budget): string {
  let random = seed;
  const choose = (count: number) => {
    random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
    return random % count;
  };
  try {
    walk(read(source), choose, limits);
    return "grammar";
  } catch (error) {
    expect(error, source.slice(0, 60)).toBeInstanceOf(GrammarError);
    return (error as GrammarError).code;
  }
}

const gbnfSeed = 'root ::= "a" item{1,3} | (item | [^x-z\\n])* "\\u00e9"? # end\nitem ::= root "b" | . root\n';
const larkSeed =
  '%import common.INT\n%ignore / +/\nstart: item+ | INT "x"i~2..3 -> a\nitem[suffix=";"]: A & ~/b[^c]+/\nA: "a".."z"* | /\\w{2}/s\n';
const regexSeed = "^\\b(?:a|[b-d\\w]{2,3}(?<n>\\p{Lu}+?)|x(?i:y))*$";

const readers: readonly [name: string, read: (source: string) => Grammar, seed: string, pieces: readonly string[]][] = [
  [
    "fromGbnf",
    fromGbnf,
    gbnfSeed,
    [
      "root ::= ",
      "\n",
      "a ::= ",
      "a",
      " ",
      '"a"',
      '"',
      "[",
      "]",
      "^",
      "-",
      "(",
      ")",
      "|",
      "*",
      "+",
      "?",
      "{",
      "}",
      ",",
      "2",
      "\\",
      "x41",
      ".",
      "#",
      "<a>",
      "é",
    ],
  ],
  [
    "fromLark",
    fromLark,
    larkSeed,
    [
      "start: ",
      "\n",
      "A: ",
      "A",
      "b: ",
      "b",
      " ",
      '"a"',
      '"',
      "/a/",
      "/",
      "[lazy]",
      "(",
      ")",
      "[",
      "]",
      "|",
      "&",
      "~",
      "*",
      "+",
      "?",
      "{",
      "}",
      ",",
      "2",
      "..",
      "->",
      "%ignore ",
      "%json {}",
      "%regex ",
      "#",
    ],
  ],
  [
    "fromRegex",
    fromRegex,
    regexSeed,
    [
      "a",
      "b",
      "\\w",
      "\\b",
      "^",
      "$",
      "(",
      ")",
      "(?:",
      "(?i:",
      "[",
      "]",
      "^",
      "-",
      "|",
      "*",
      "+",
      "?",
      "{2}",
      "{1,3}",
      "{",
      "}",
      ",",
      "\\",
      ".",
      "\\p{L}",
      "\\u{1f600}",
      "é",
      "😀",
      "\ud800",
    ],
  ],
];

describe.each(readers)("%s", (_, read, seed, pieces) => {
  test("random sources end in a grammar or a GrammarError", () => {
    const seen = new Map<string, number>();
    const property = fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 16 }), fc.nat(), (parts, random) => {
      const result = expectGrammarOrError(read, parts.join(""), random);
      seen.set(result, (seen.get(result) ?? 0) + 1);
    });
    fc.assert(property, { seed: 20, numRuns: isWholeGrid ? 600 : 150 });
    expect(seen.get("GRAMMAR_SYNTAX")).toBeGreaterThan(0);
  });

  test("sources with pieces cut out, doubled and inserted do as well", () => {
    expect(expectGrammarOrError(read, seed, 1, { steps: 1e9 })).toBe("grammar");
    const edit = fc.tuple(fc.nat(seed.length), fc.nat(6), fc.constantFrom("", ...pieces));
    const seen = new Set<string>();
    const property = fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), fc.nat(), (edits, random) => {
      const source = edits.reduce((text, [at, length, piece]) => text.slice(0, at) + piece + text.slice(at + length), seed);
      seen.add(expectGrammarOrError(read, source, random));
    });
    fc.assert(property, { seed: 20, numRuns: isWholeGrid ? 600 : 150 });
    expect(seen).toContain("grammar");
  });
});

describe("sources that are large or ambiguous end within the budget", () => {
  const repeated = (text: string, count: number) => text.repeat(count);
  test.each<[name: string, read: (source: string) => Grammar, source: string]>([
    ["many optional items before as many items", fromRegex, "(a?){1000}a{1000}"],
    ["nested counts", fromRegex, "((((a{1,100}){1,100}){1,100}){1,100}){1,100}"],
    ["a state for every beginning", fromRegex, "(?:a|b)*a(?:a|b){40}"],
    ["a huge count", fromRegex, "(?:ab|a){1000000000}"],
    ["a long alternation", fromRegex, Array.from({ length: 2e4 }, (_, i) => `x${i}`).join("|")],
    ["a long expression", fromRegex, repeated("a?", 1e5)],
    ["many groups", fromRegex, repeated("(a|b)", 2e4)],
    [
      "doubling rules",
      fromGbnf,
      `root ::= r0\n${Array.from({ length: 60 }, (_, i) => `r${i} ::= r${i + 1} r${i + 1}`).join("\n")}\nr60 ::= "a"`,
    ],
    [
      "recursive doubling",
      fromGbnf,
      `root ::= r0\n${Array.from({ length: 60 }, (_, i) => `r${i} ::= r${i + 1} r${i + 1}`).join("\n")}\nr60 ::= "a" | "(" root ")"`,
    ],
    [
      "a chain of regular rules",
      fromGbnf,
      `root ::= r0\n${Array.from({ length: 5e4 }, (_, i) => `r${i} ::= "x" r${i + 1}`).join("\n")}\nr50000 ::= "a"`,
    ],
    [
      "a chain of recursive rules",
      fromGbnf,
      `root ::= r0\n${Array.from({ length: 5e4 }, (_, i) => `r${i} ::= "x" r${i + 1}`).join("\n")}\nr50000 ::= "a" | root`,
    ],
    ["ambiguity", fromGbnf, 'root ::= root root root | "a" | ""'],
    ["left recursion through empty rules", fromGbnf, 'root ::= e root "a" | e\ne ::= e e | ""'],
    ["a rule that is only itself", fromGbnf, "root ::= root"],
    ["a long text", fromGbnf, `root ::= "${repeated("a", 1e6)}"`],
    [
      "a long class",
      fromGbnf,
      `root ::= [${Array.from({ length: 2e4 }, (_, i) => String.fromCodePoint(0x4e00 + 2 * (i % 1e4))).join("")}]`,
    ],
    ["repeated substrings", fromLark, `start: %regex {"substring_chars": "${repeated("ab", 5e3)}"}`],
    ["complements of complements", fromLark, `start: A\nA: ${repeated("~(", 100)}/a*b/ & /(?s:.*)/${repeated(")", 100)}`],
    ["lazy ambiguity", fromLark, "start: a*\na[lazy]: /(.|\\n)*(ab|ba)(.|\\n)*/ /(a|b){50}/"],
  ])("%s", (_, read, source) => {
    const result = expectGrammarOrError(read, source, 7);
    expect(result).toMatch(/^(grammar|GRAMMAR_BUDGET|GRAMMAR_EMPTY)$/);
  });

  test("optional items before as many items are matched", () => {
    const matcher = compile(fromRegex("(a?){1000}a{1000}"), allBytes).matcher();
    const count = (length: number) => new TextEncoder().encode("a".repeat(length));
    expect(matcher.acceptBytes(count(999))).toBe(true);
    expect(matcher.isComplete).toBe(false);
    expect(matcher.acceptBytes(count(1))).toBe(true);
    expect(matcher.isComplete).toBe(true);
    expect(matcher.acceptBytes(count(1000))).toBe(true);
    expect(matcher.isComplete).toBe(true);
    expect(matcher.acceptBytes(count(1))).toBe(false);
  });
});
