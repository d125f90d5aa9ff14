import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Meter } from "../src/budget.ts";
import { fromRegex, GrammarError, matches, type RegexOptions } from "../src/index.ts";
import { classSetOf } from "../src/regex/classes.ts";
import { type CodePointSet, codePointSet, contains } from "../src/regex/codePointSet.ts";
import { ecmaScript } from "../src/regex/dialect.ts";
import { hostSet, ignoringCase } from "../src/regex/hostUnicode.ts";
import { parseRegex } from "../src/regex/parse.ts";
import { isWholeGrid } from "./grid.ts";

/** What the JavaScript engine says. Sticky and with lookahead, as flag `m` would change `^` and `$`. */
function hostMatches(source: string, { flags = "u", anchored = true }: RegexOptions, text: string): boolean {
  const allFlags = /[uv]/.test(flags) ? flags : `${flags}u`;
  return new RegExp(anchored ? `(?:${source})(?![^])` : source, anchored ? `${allFlags}y` : allFlags).test(text);
}

const patient = { steps: 1e9 };

function grammarMatches({ start }: ReturnType<typeof fromRegex>, text: string): boolean {
  return matches(start, text, patient);
}

const characters = [..."abk_ 1S", "\n", "ſ", "é", "É", "😀", "\u212a"];
const texts = fc.array(fc.constantFrom(...characters), { maxLength: 5 }).map((parts) => parts.join(""));
const fixedTexts = [
  "",
  "a",
  "b",
  "foo",
  "foo bar",
  "a foo",
  "barfoo",
  "ſ",
  "K",
  "a\nb",
  "\n",
  "1",
  "é",
  "😀",
  "aa",
  " ",
  "x foo,",
  "ß",
  "ẞ",
  "aaa",
];

const sources = fc.letrec<{ source: string; atom: string }>((tie) => ({
  source: fc.oneof(
    { depthSize: "small" },
    tie("atom"),
    fc.array(tie("source"), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("")),
    fc.array(tie("source"), { minLength: 1, maxLength: 3 }).map((parts) => `(?:${parts.join("|")})`),
    fc
      .tuple(tie("source"), fc.constantFrom("*", "+", "?", "{2}", "{1,2}", "{0}", "*?", "+?", "{1,}"))
      .map(([part, count]) => `(?:${part})${count}`),
    fc.tuple(fc.constantFrom("(", "(?i:", "(?-i:", "(?s:"), tie("source")).map(([open, part]) => `${open}${part})`),
  ),
  atom: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...characters) },
    fc.constantFrom(".", "\\w", "\\W", "\\d", "\\D", "\\s", "\\S", "[ab]", "[^ab]", "[a-k]", "[^\\W]", "[\\d_]", "[^\\S]", "[]", "[^]"),
    fc.constantFrom("\\p{AHex}", "\\P{AHex}", "[^\\P{AHex}]", "[\\p{AHex}ſ]", "\\u{1f600}", "\\u0061", "\\x62", "[S-k]", "[^s]"),
    fc.constantFrom("\\ud83d\\ude00", "\\cJ", "\\n", "\\/", "\\u{61}{2}", "a{2,3}?", "[\\b]", "[+--]", "(?<名>b)?", "a??", "(?=)?"),
    fc.constantFrom("^", "$", "\\b", "\\B"),
  ),
}));
/** V8 does not match `S` with `(?i:ſ)`, though it does with `/ſ/iu`, and `(?i:.)[^\W]` matches the Kelvin sign: the standard has one rule. */
function isComparable(source: string, text: string): boolean {
  return !(/\(\?-?i:/.test(source) && /[ſ\u212a]/.test(source + text));
}
const optionSets = fc.record({ flags: fc.constantFrom("u", "v", "iu", "iv", "mu", "su", "imsu", "mv"), anchored: fc.boolean() });

describe("fromRegex matches what RegExp matches", () => {
  test("random expressions and texts", () => {
    let [compared, refused] = [0, 0];
    const property = fc.property(
      sources.source,
      optionSets,
      fc.array(texts, { minLength: 1, maxLength: 6 }),
      (source, options, samples) => {
        let grammar: ReturnType<typeof fromRegex>;
        try {
          new RegExp(source, options.flags);
        } catch {
          expect(() => fromRegex(source, options)).toThrow(GrammarError);
          return;
        }
        try {
          grammar = fromRegex(source, options);
        } catch (error) {
          expect(error).toMatchObject({ code: "GRAMMAR_UNSUPPORTED" });
          refused++;
          return;
        }
        for (const text of samples.filter((sample) => isComparable(source, sample))) {
          compared++;
          expect(grammarMatches(grammar, text), JSON.stringify({ source, options, text })).toBe(hostMatches(source, options, text));
        }
      },
    );
    fc.assert(property, { seed: 20, numRuns: isWholeGrid ? 600 : 200 });
    expect(refused).toBeLessThan(compared / 10);
  });

  test.each(
    // prettier-ignore
    [
      "^a",
      "a$",
      "\\bfoo\\b",
      "foo|^a",
      "(?:^|\\s)foo(?:$|\\W)",
      "\\Bo",
      "^$",
      "a^b",
      "^b$",
      "^a?\\b$",
      "(?<n>^a|b$)?",
      "(?:\\b|x)(?:foo|)(?:\\B|$)",
      "^(?:a|b)*$",
      "\\b|a",
    ],
  )("assertions: %s", (source) => {
    for (const flags of ["u", "iv", "mu"])
      for (const anchored of [true, false])
        for (const text of fixedTexts)
          expect(grammarMatches(fromRegex(source, { flags, anchored }), text), JSON.stringify({ flags, anchored, text })).toBe(
            hostMatches(source, { flags, anchored }, text),
          );
  });

  test.each(["\\p{Lu}", "\\P{Lu}", "[^\\p{Lu}]", "[^\\P{Lu}]"])("properties and case: %s", (source) => {
    for (const flags of ["u", "iu", "v", "iv"])
      for (const text of fixedTexts)
        expect(grammarMatches(fromRegex(source, { flags }), text), `${flags} ${text}`).toBe(hostMatches(source, { flags }, text));
  });

  test.each(["[a--b]", "[\\w--[a-k]]", "[\\w&&[^a]]", "[\\q{ab|c|}x]", "[[\\q{ab|Ab}]--\\q{ab}]", "[^[a-k]_]"])(
    "classes of flag v: %s",
    (source) => {
      for (const flags of ["v", "iv"])
        for (const text of [...fixedTexts, "ab", "AB", "Ab", "c", "k", "_"])
          expect(grammarMatches(fromRegex(source, { flags }), text), `${flags} ${text}`).toBe(hostMatches(source, { flags }, text));
    },
  );
});

describe("classes hold what those of RegExp hold", () => {
  const pieces = [
    ..."abz-^&|(){}.$+",
    "\\-",
    "\\]",
    "\\[",
    "\\\\",
    "\\^",
    "\\b",
    "\\n",
    "\\0",
    "\\cJ",
    "\\x41",
    "\\u0061",
    "\\u{7a}",
    "\\u{1f600}",
    "😀",
  ];
  const sets = [
    "\\ud83d\\ude00",
    "\\ud83d",
    "\\w",
    "\\W",
    "\\d",
    "\\S",
    "\\p{AHex}",
    "\\P{AHex}",
    "[a-c]",
    "[^a]",
    "&&",
    "--",
    "\\q{a|bc|\\x7a}",
    "\\&",
  ];
  const contents = fc.array(fc.constantFrom(...pieces, ...sets), { maxLength: 6 }).map((parts) => parts.join(""));
  const members = [...Array.from({ length: 0x180 }, (_, c) => c), 0x17f, 0x212a, 0x1f600, 0x1f601, 0x10ffff];

  test.each(["u", "v", "iu", "iv"])("random classes with flags %s", (flags) => {
    let compared = 0;
    const property = fc.property(contents, fc.constantFrom("[", "[^"), (content, open) => {
      const source = `${open}${content}]`;
      // V8 does not ignore the case of single characters in `\q{a|bc}`, though it does for `bc`.
      if (flags === "iv" && content.includes("\\q")) return;
      let host: RegExp;
      try {
        host = new RegExp(`^${source}$`, flags);
      } catch {
        return;
      }
      compared++;
      const { pattern, flags: parsed } = parseRegex(source, flags, ecmaScript, new Meter());
      // Content such as `a]b[c` closes the class early: then the expression is more than a class.
      const [node, more] = pattern.alternatives.flatMap(({ elements }) => elements);
      if (node?.type !== "CharacterClass" || more !== undefined) return;
      const { codePoints } = classSetOf(node, parsed, ecmaScript);
      for (const c of members) expect(contains(codePoints, c), `${source} ${c}`).toBe(host.test(String.fromCodePoint(c)));
    });
    fc.assert(property, { seed: 20, numRuns: isWholeGrid ? 600 : 200 });
    expect(compared).toBeGreaterThan(100);
  });
});

/** Each code point that a class holds, compared with the JavaScript engine for all code points but surrogates. */
function expectHostSet(set: CodePointSet, pattern: RegExp): void {
  const differing = [];
  for (let c = 0; c <= 0x10ffff; c++) {
    if (c === 0xd800) c = 0xe000;
    if (contains(set, c) !== pattern.test(String.fromCodePoint(c))) differing.push(c);
  }
  expect(differing).toEqual([]);
}

describe("Unicode is that of the JavaScript engine", () => {
  test.each(["\\p{L}", "\\P{L}", "\\p{Script=Greek}", "\\p{sc=Han}", "\\p{scx=Deva}", "\\p{Emoji}", "\\p{Cn}", "\\p{ASCII}"])(
    "%s",
    (property) => {
      expectHostSet(hostSet(property), new RegExp(property, "u"));
    },
  );

  test("white space", () => {
    expectHostSet(ecmaScript.escape("space", { ignoreCase: false }), /\s/u);
  });

  test("every code point with cases equals the same code points when case is ignored", () => {
    const cased = hostSet("[\\p{CWCM}\\p{CWCF}]").flatMap(([a, b]) => Array.from({ length: b - a + 1 }, (_, i) => a + i));
    const text = String.fromCodePoint(...cased);
    for (const codePoint of cased) {
      const equals = [...text.matchAll(new RegExp(`\\u{${codePoint.toString(16)}}`, "giu"))].map(
        ([found]) => found.codePointAt(0) as number,
      );
      expect(ignoringCase(codePointSet([codePoint]))).toEqual(codePointSet(equals));
    }
  });
});

describe("errors", () => {
  test.each([
    ["a(?=b)", "lookahead", 2],
    ["a(?!b)", "lookahead", 2],
    ["(?<=a)b", "lookbehind", 1],
    ["(?<!a)b", "lookbehind", 1],
    ["(a)\\1", "backreference", 4],
    ["(?<n>a)x\\k<n>", "backreference", 9],
    ["x(?:\\ba)*", "assertion in a repeated group", 2],
    ["(?:(?=a)a)*", "lookahead", 4],
    ["ba{10000000000000000}", "count above 2^53", 2],
  ])("%s is refused by name and column", (source, keyword, column) => {
    expect(() => fromRegex(source)).toThrow(expect.objectContaining({ code: "GRAMMAR_UNSUPPORTED", keyword, column }));
  });

  test("a property of strings is refused by name and column", () => {
    expect(() => fromRegex("a\\p{RGI_Emoji}", { flags: "v" })).toThrow(
      expect.objectContaining({ code: "GRAMMAR_UNSUPPORTED", keyword: "property of strings", column: 2 }),
    );
  });

  test.each(["a(", "a)", "*a", "a{2,1}", "[b-a]", "\\-", "\\p{Nonsense}", "(?<n>a)(?<n>b)", "a{", "]", "[\\w-a]"])(
    "%s is a syntax error",
    (source) => {
      expect(() => fromRegex(source)).toThrow(expect.objectContaining({ code: "GRAMMAR_SYNTAX", reason: expect.stringMatching(/./) }));
    },
  );

  test.each(["uv", "uu", "g", "x"])("flags %s are an error", (flags) => {
    expect(() => fromRegex("a", { flags })).toThrow(expect.objectContaining({ code: "GRAMMAR_ARGUMENT" }));
  });

  test.each(["(", "(?:", "[", "((a|", "[^["])("a million nested %s end in an error, not in an overflow", (open) => {
    for (const flags of ["u", "v"])
      expect(() => fromRegex(open.repeat(1e6), { flags })).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^GRAMMAR_(BUDGET|SYNTAX)$/) }),
      );
  });
});
