import { describe, expect, test } from "vitest";
import { fromLark } from "../src/index.ts";
import { expectMatches } from "./matching.ts";

describe("fromLark", () => {
  test.each<[source: string, accepted: string[], rejected: string[]]>([
    ['start: "a" | "b"', ["a", "b"], ["", "ab"]],
    ['start: "a"\n  | "b" // comment\n  # comment\n  | "c"\n', ["a", "b", "c"], ["ab"]],
    ['start: ("a"\n "b")+ ["c"]', ["ab", "ababc"], ["c"]],
    ['start: a B\na: "x"*\nB: "y"~2 | "z"{1,2} | "w"~1..2', ["yy", "xzz", "xxww"], ["y", "zzz"]],
    ['start: "a"{2,} "b"{,1} "c"{2}', ["aacc", "aaabcc"], ["acc", "aac", "aabbcc"]],
    ['start: "\\"\\n\\u00e9\\x41"', ['"\néA'], []],
    ['start: "straSSE"i "ſ"i', ["STRAsses", "ſtraſſeS"], ["strasse"]],
    ['start: "a".."c"+', ["abc"], ["d"]],
    ["start: /[a-c]+/ /\\d/", ["ab1", "c٣"], ["ab", "d1"]],
    ["start: /a.c/s /b./", ["a\ncbd", "a\rcb\r"], ["a\ncb\n"]],
    ['start: /\\"[^\\"\\\\\\x00-\\x1f]\\/\\-\\"/i', ['"x/-"'], ['"\n/-"']],
    ["start: /\\w\\s/", ["é\u2003", "a "], ["-a", "ab"]],
    ["start: A\nA: /[a-z \\n]*/ & ~/(?s:.*)\\n\\n(?s:.*)/", ["a\nb", ""], ["a\n\nb", "A"]],
    ['start: A\nA: ~/a+/ & /[ab]{1,2}/ | "c"', ["b", "ab", "c"], ["a", "aa", ""]],
    ['%ignore /[ \\t]/\nstart: "a" B "c"\nB: "b" "b"', ["abbc", "a  bb\tc "], ["ab bc", " abbc"]],
    ['%ignore " "\n%llguidance { "allow_initial_skip": true, "ignore_once": true }\nstart: "a" "b"', ["ab", " a b "], ["a  b"]],
    [
      '%import common.INT\n%import common.CNAME -> NAME\n%import common (WS, HEXDIGIT)\nstart: NAME "=" INT WS HEXDIGIT',
      ["x_1=42 f"],
      ["1=4 f"],
    ],
    ["%import common.SIGNED_NUMBER\nstart: SIGNED_NUMBER", ["1", "-1.5", "+.5e-3", "2e8", "3."], ["", "e5", "--1"]],
    ["%import common.ESCAPED_STRING\nstart: ESCAPED_STRING", ['"a\\"b"'], ['"a"b"', '"']],
    ["%import common.C_COMMENT\nstart: C_COMMENT", ["/* a * b **/"], ["/* a */ */"]],
    ['start: %regex { "substring_chunks": ["abc", "de", "fg"] }', ["", "abc", "de", "abcde", "defg", "abcdefg"], ["ab", "cde", "abcfg"]],
    ['start: A\nA: "<" %regex { "substring_words": "foo bar. baz" } ">"', ["<>", "<foo bar.>", "<. baz>"], ["<oo>"]],
    ['start: %regex { "substring_chars": "a😀c" }', ["a😀", "😀c", "c"], ["ac"]],
    ['start: head "x"\nhead[lazy]: /.*<end>/', ["foo<end>x"], ["foo<end>bar<end>x"]],
    ['start: head "x"\nhead[suffix="<end>"]: /.*/', ["foo<end>x"], ["foo<end>bar<end>x", "foox"]],
    ["start: head\nhead[lazy]: /[0-9]+/", ["1"], ["12"]],
    [
      'start: (foo | bar)* rest\nrest: TEXT\nTEXT: /(.|\\n)*/\nfoo: head "=1>"\nbar: head "=2>"\nhead[lazy]: TEXT "<f"',
      ["abc", "a<f=1>b<f=2>"],
      [],
    ],
    ['?start: sum\n!sum: sum "+" NUMBER -> add | NUMBER -> number\nNUMBER: /[0-9]+/', ["1", "1+23+4"], ["1+", "+1"]],
    ['start: "(" start ")" | ""', ["", "(())"], ["(()"]],
    ['%llguidance {"no_forcing": false}\nstart: _a _B\n_a: "a"\n_B: "b"', ["ab"], ["a"]],
    ['start: constructor\nconstructor: "a"', ["a"], []],
  ])("%s", (source, accepted, rejected) => {
    expectMatches(fromLark(source), accepted, rejected);
  });

  test.each<[source: string, code: string, line: number, column: number]>([
    ["", "GRAMMAR_REFERENCE", 1, 1],
    ['START: "a"', "GRAMMAR_REFERENCE", 1, 1],
    ["start: a", "GRAMMAR_REFERENCE", 1, 8],
    ["start: A", "GRAMMAR_REFERENCE", 1, 8],
    ["start: A\nA: constructor", "GRAMMAR_REFERENCE", 2, 4],
    ['start: A\na: "a"\nA: a', "GRAMMAR_REFERENCE", 3, 4],
    ["start: A\nA: B\nB: A", "GRAMMAR_SYNTAX", 2, 1],
    ['start: "a', "GRAMMAR_SYNTAX", 1, 8],
    ['start: "\\q"', "GRAMMAR_SYNTAX", 1, 8],
    ['start: "\\ud800"', "GRAMMAR_SYNTAX", 1, 8],
    ["start: /a", "GRAMMAR_SYNTAX", 1, 8],
    ["start: /a(/", "GRAMMAR_SYNTAX", 1, 8],
    ["start: /[[:alpha:]]/", "GRAMMAR_SYNTAX", 1, 8],
    ["start: /[\\w--\\d]/", "GRAMMAR_SYNTAX", 1, 8],
    ['start: ("a"', "GRAMMAR_SYNTAX", 1, 8],
    ['start: "a")', "GRAMMAR_SYNTAX", 1, 11],
    ['start: "a"{2,1}', "GRAMMAR_SYNTAX", 1, 11],
    ['start: "b".."a"', "GRAMMAR_SYNTAX", 1, 8],
    ['start: "ab".."c"', "GRAMMAR_SYNTAX", 1, 8],
    ['start "a"', "GRAMMAR_SYNTAX", 1, 7],
    ['start: "a"\nstart: "b"', "GRAMMAR_SYNTAX", 2, 1],
    ["start: %json {", "GRAMMAR_SYNTAX", 1, 14],
    ["start: %regex []", "GRAMMAR_SYNTAX", 1, 15],
    ['%llguidance {"allow_initial_skip": 1}\nstart: "a"', "GRAMMAR_SYNTAX", 1, 1],
    ['start[suffix=""]: /a/', "GRAMMAR_SYNTAX", 1, 1],
    [`start: ${"(".repeat(1e6)}`, "GRAMMAR_BUDGET", 1, 258],
    [`start: A\nA: ${"~".repeat(1e6)}`, "GRAMMAR_BUDGET", 2, 255],
  ])("%.40s is an error with its place", (source, code, line, column) => {
    expect(() => fromLark(source)).toThrow(expect.objectContaining({ code, line, column }));
  });

  test.each([
    ["start: <|eot|>", "token reference"],
    ["start: <[12-15]>", "token reference"],
    ["start: @other", "reference to another grammar"],
    ['start: %lark { start: "a" }', "nested grammar"],
    ["start: A\nA: %json {}", "%json in a terminal"],
    ['start: "a" & "b"', "& in a rule"],
    ['start: A\nA.2: "a"', "priority"],
    ['start.1: "a"', "priority"],
    ['start{x}: "a"', "template"],
    ['start: a{"x"}\na: "a"', "template"],
    ['start: a::0x0\na::_: "a"', "parametric rule"],
    ['start: "a" %if is_ones([0:3])', "parametric rule"],
    ['start[capture]: "a"', "attribute capture"],
    ['start[capture="x"]: "a"', "attribute capture"],
    ['start[stop="x"]: /a/', "attribute stop"],
    ["start[max_tokens=5]: /a/", "attribute max_tokens"],
    ["start[temperature=0.5]: /a/", "attribute temperature"],
    ["%declare A\nstart: A", "directive %declare"],
    ['%override start: "a"', "directive %override"],
    ["%import python.NAME\nstart: NAME", "import of python.NAME"],
    ["%import common.NONSENSE\nstart: NONSENSE", "import of common.NONSENSE"],
    ['%llguidance {"no_forcing": true}\nstart: "a"', "option no_forcing"],
    ['start: %regex {"type": "number"}', "kind of %regex"],
    ["start: /a/x", "flag x"],
    ["start: /a/l", "flag l"],
    ["start: /a(?=b)/", "lookahead"],
    ["start: /^a/", "anchor"],
    ["start: /a\\b/", "word boundary"],
    ["start: /a*?/", "lazy quantifier"],
    ["start: /[[a]/", "nested or combined class"],
    ["start: /[a-z&&b]/", "nested or combined class"],
    ["start: /[^]/", "empty class"],
  ])("%s is refused by name", (source, keyword) => {
    expect(() => fromLark(source)).toThrow(expect.objectContaining({ code: "GRAMMAR_UNSUPPORTED", keyword, line: expect.any(Number) }));
  });

  test("schemas are parts of a grammar, each with its own rules, and white space as the options say", () => {
    const list = (itself: string) => `{ "type": "array", "items": { "$ref": "${itself}" }, "maxItems": 2 }`;
    const second = `{ "$defs": { "n": ${list("#/$defs/n")} }, "$ref": "#/$defs/n", "x-note": 1 }`;
    const grammar = fromLark(`%ignore " "\nstart: a "or" b\na: %json ${list("#")}\nb: %json ${second}`);
    expectMatches(grammar, ["[] or []", "[[],[[]]]or[[]] "], ["[ ]or[]", "[[],[],[]]or[]", "[[]or[]"]);
    expect(grammar.warnings).toMatchObject([{ keyword: "x-note" }]);
    expectMatches(fromLark("start: %json {}", { json: { whitespace: "any" } }), ["[ 1 ]"], ["[ 1"]);
  });

  test("errors of a schema have their pointer, and the place of the schema", () => {
    const source = 'start: "a"\n  | %json { "items": { "type": "strin" } }';
    expect(() => fromLark(source)).toThrow(
      expect.objectContaining({ code: "GRAMMAR_SYNTAX", pointer: "/items", keyword: "type", line: 2, column: 5 }),
    );
  });

  test("a grammar without recursion is one regular expression", () => {
    expect(fromLark('%ignore " "\nstart: a "," a\na: B+\nB: "b"')).toMatchObject({ start: { isRegular: true }, rules: {} });
  });

  test("long comments and long chains of terminals are no trouble", () => {
    const chain = Array.from({ length: 1e4 }, (_, i) => `A${i}: A${i + 1}`).join("\n");
    expect(fromLark(`start: A0 ${"# a # b ".repeat(1e4)}\n${chain}\nA10000: "a"`, { budget: { steps: 1e9 } })).toMatchObject({
      rules: {},
    });
  });
});
