import { describe, expect, test } from "vitest";
import { fromGbnf } from "../src/index.ts";
import { expectMatches } from "./matching.ts";

// Grammars for what the examples of llama.cpp describe, in own words.
const arithmetic = `
root  ::= (sum "=" blank number "\\n")+   # one equation per line
sum   ::= term ([-+*/] blank term)*
term  ::= name | number | "(" blank sum ")" blank
name  ::= [a-z] [a-z0-9_]* blank
number ::= [0-9]+ blank
blank ::= [ \\t]*
`;
const chess = `root ::= ([1-9] [0-9]? ". " move " " move "\\n"){1,2}
move ::= (piece | pawn | castling) [+#]?
piece ::= [KQRBN] [a-h]? [1-8]? "x"? square   # Nbxd2, Qe4
pawn ::= ([a-h] "x")? square ("=" [QRBN])?
castling ::= "O-O" "-O"?
square ::= [a-h] [1-8]`;
const list = `root ::= item+
item ::= "- " [^\\r\\n\\x0b\\x0c\\u0085\\u2028\\u2029]+ "\\n"`;
const japanese = `root ::= word ([ \\t\\n] word)*
word ::= hiragana+ | katakana+ | kanji+ | punctuation
hiragana ::= [ぁ-ゟ]
katakana ::= [ァ-ヿ]
punctuation ::= [、-〾]
kanji ::= [\\u4E00-\\u9FFF\\U00020000-\\U0002A6DF]`;
const json = `root ::= object
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::=
  "{" ws (
    string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\\"" (
    [^"\\\\\\x7F\\x00-\\x1F] |
    "\\\\" (["\\\\bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\\n" [ \\t]{0,20}
`;

describe("fromGbnf", () => {
  test.each([
    [arithmetic, ["1+2=3\n", "a_1 * (b-2) = 7\n1=1\n"], ["1+2=3", "1+=3\n", "(1=2\n", ""]],
    [chess, ["1. e4 e5\n", "1. Nbd7 exd8=Q+\n12. O-O O-O-O#\n"], ["1. e4\n", "0. e4 e5\n", "1. e9 e5\n", "1. a1 a2\n2. a1 a2\n3. a1 a2\n"]],
    [list, ["- a\n", "- a\n- 😀 b\n"], ["- \n", "a\n", "- a\u2028\n"]],
    [japanese, ["ひらがな カタカナ", "𠀀漢字"], ["ひカ", "abc", ""]],
    [json, ['{"a": [1, -2.5e+3, {}, "\\u00e9😀"]}', "{}"], ["[]", '{"a":}', '{"a" 1}', '{"a": "\n"}', '{"a": 1']],
  ])("%s", (source, accepted, rejected) => {
    expectMatches(fromGbnf(source), accepted, rejected);
  });

  test.each([
    ['root ::= "a" | "b"', ["a", "b"], ["", "ab"]],
    ['root ::= "a" |\n  "b"', ["a", "b"], [""]],
    ['root ::= ( "a"\n  # comment\n | "b" ) "c"\r\n', ["ac", "bc"], ["a"]],
    ['root ::= | "a"', ["", "a"], ["aa"]],
    ["root ::= .", ["a", "\n", "😀"], ["", "ab"]],
    ["root ::= [^a-c\\]-]", ["d", "😀"], ["a", "]", "-"]],
    ["root ::= [a-]", ["a", "-"], ["b"]],
    ['root ::= "\\x41\\u00e9\\U0001F600\\"\\\\\\[\\]\\n\\r\\t"', ['Aé😀"\\[]\n\r\t'], []],
    ['root ::= "a"{2}', ["aa"], ["a", "aaa"]],
    ['root ::= "a" { 2 , } "b"', ["aab", "aaaab"], ["ab"]],
    ['root ::= "a"{1,2}', ["a", "aa"], ["", "aaa"]],
    ['root ::= "a"{0}', [""], ["a"]],
    ['root ::= "a"*? "b"+', ["b", "aabb"], ["a"]],
    ['root ::= ("a" "b")? ("c")*', ["", "abcc"], ["ac"]],
    ['root ::= a-1 a_2\na-1 ::= "x"\na_2 ::= "y"', ["xy"], ["x"]],
    ['root ::= root "a" | "b"', ["b", "baa"], ["ab"]],
    ['root ::= "a" root "b" | ""', ["", "ab", "aabb"], ["aab"]],
    ['root ::= "a"{3000}', ["a".repeat(3000)], ["a".repeat(2999)]],
    ['# only a comment\n\nroot ::= "a" # end', ["a"], []],
    ['root ::= constructor\nconstructor ::= "a"\n__proto__ ::= "b"', ["a"], ["b"]],
  ])("%s", (source, accepted, rejected) => {
    expectMatches(fromGbnf(source), accepted, rejected);
  });

  test("a grammar without recursion is one regular expression", () => {
    expect(fromGbnf(chess)).toMatchObject({ start: { isRegular: true }, rules: {} });
    expect(Object.keys(fromGbnf(json).rules)).toEqual(["root", "value", "object", "array"]);
  });

  test.each([
    ["", "GRAMMAR_REFERENCE", 1, 1],
    ['a ::= "b"', "GRAMMAR_REFERENCE", 1, 1],
    ["root", "GRAMMAR_SYNTAX", 1, 5],
    ['root ::= "a" (b |\n  c)', "GRAMMAR_REFERENCE", 1, 15],
    ["root ::= constructor", "GRAMMAR_REFERENCE", 1, 10],
    ['root ::= "a', "GRAMMAR_SYNTAX", 1, 10],
    ["root ::= [a", "GRAMMAR_SYNTAX", 1, 10],
    ["root ::= []", "GRAMMAR_SYNTAX", 1, 10],
    ["root ::= [z-a]", "GRAMMAR_SYNTAX", 1, 11],
    ['root ::= ("a"', "GRAMMAR_SYNTAX", 1, 10],
    ['root ::= ("a" ::= )', "GRAMMAR_SYNTAX", 1, 15],
    ['root ::= "a" )', "GRAMMAR_SYNTAX", 1, 14],
    ['root ::= "a"\r\n | "b"', "GRAMMAR_SYNTAX", 2, 2],
    ["root ::= *", "GRAMMAR_SYNTAX", 1, 10],
    ['root ::= "a"{2,1}', "GRAMMAR_SYNTAX", 1, 13],
    ['root ::= "a"{,1}', "GRAMMAR_SYNTAX", 1, 14],
    ['root ::= "a"{99999999999999999999}', "GRAMMAR_SYNTAX", 1, 13],
    ['root ::= "\\q"', "GRAMMAR_SYNTAX", 1, 11],
    ['root ::= "\\x0"', "GRAMMAR_SYNTAX", 1, 11],
    ['root ::= "\\U00110000"', "GRAMMAR_SYNTAX", 1, 11],
    ['root ::= "\\uD800"', "GRAMMAR_SYNTAX", 1, 11],
    ['root ::= "\ud800"', "GRAMMAR_SYNTAX", 1, 11],
    ['root ::= "a"\nroot ::= "b"', "GRAMMAR_SYNTAX", 2, 1],
    [`root ::= ${"(".repeat(1e6)}`, "GRAMMAR_BUDGET", 1, 260],
  ])("%.40s is an error with its place", (source, code, line, column) => {
    expect(() => fromGbnf(source)).toThrow(expect.objectContaining({ code, line, column }));
  });

  test.each(["<think>", "<[1000]>", "!<think>", "!<[1000]>*"])("the token reference %s is refused by name", (token) => {
    expect(() => fromGbnf(`root ::= "a" ${token}`)).toThrow(
      expect.objectContaining({ code: "GRAMMAR_UNSUPPORTED", keyword: "token reference", line: 1, column: 14 }),
    );
  });

  const patient = { budget: { steps: 1e9 } };

  test("long chains of rules and long lists of items compile", () => {
    const chain = Array.from({ length: 1e4 }, (_, i) => `r${i} ::= r${i + 1}`).join("\n");
    expect(fromGbnf(`root ::= r0\n${chain}\nr10000 ::= "a"`, patient)).toEqual({
      start: { kind: "text", isRegular: true, text: "a" },
      rules: {},
    });
    expect(fromGbnf(`root ::= ${'"a" '.repeat(1e5)}`, patient).start).toMatchObject({ kind: "sequence" });
  });
});
