import { describe, expect, test } from "vitest";
import { preTokenizerNames } from "../src/index.ts";
import { type Cutter, maxPieceLength, preTokenize } from "../src/tokenizer/preTokenize.ts";
import { preTokenizerFor } from "../src/tokenizer/regexPreTokenizers.ts";
import { multilingual } from "./shared.ts";

function split(text: string, patterns: readonly Cutter[]): string[] {
  return [...preTokenize(text, patterns)].flat();
}

/** What windows must not change: every cutter over whole pieces. */
function splitWhole(text: string, patterns: readonly Cutter[]): string[] {
  const cut = (piece: string, cutter: Cutter): string[] => {
    const ends =
      typeof cutter === "function"
        ? [...cutter(piece)]
        : [...piece.matchAll(cutter)].flatMap(({ index, 0: { length } }) => [index, index + length]);
    const places = [...new Set([0, ...ends, piece.length])].sort((a, b) => a - b);
    return places.slice(1).map((end, i) => piece.slice(places[i], end));
  };
  return patterns.reduce((pieces, cutter) => pieces.flatMap((piece) => cut(piece, cutter)), [text]);
}

describe("pre-tokenizers", () => {
  const patternsOf = (name: string): string => preTokenizerFor(name).patterns.join();
  /** One name of each set of patterns. */
  const families = preTokenizerNames.filter(
    (name, i) => preTokenizerNames.findIndex((other) => patternsOf(other) === patternsOf(name)) === i,
  );

  test.each(families)("%s loses nothing and survives long runs", (name) => {
    const { patterns } = preTokenizerFor(name);
    for (const text of [multilingual, "don't 'TIS 12345 a1b2\n\n  x", "<sentinel:12>IMGIMGABZ"]) {
      const pieces = split(text, patterns);
      expect(pieces.join("")).toBe(text);
      expect(pieces).not.toContain("");
    }
    for (const unit of [" ", "a", "A", "é", "\n", "7", "!", "中", " a", "'", "\u0301"]) {
      const text = `${unit.repeat(100_000)}x`;
      // Quadratic time would exceed the test's time limit by far.
      expect(split(text, patterns).join("").length).toBe(text.length);
    }
  });

  test.each(families)("%s splits a long text window by window as it does at once", (name) => {
    const { patterns } = preTokenizerFor(name);
    let state = 1;
    const random = (below: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const kinds = [
      " word",
      "Word's",
      " 12345",
      "!?",
      "\n",
      "\r\n\n",
      "   ",
      "\t",
      "中文字",
      "é\u0301",
      "👩‍👩‍👧",
      " it'll",
      "한국",
      " नमस्ते",
      "ไทย",
    ];
    let text = "";
    while (text.length < 200_000) text += kinds[random(kinds.length)]!.repeat(random(40) === 0 ? random(300) : 1 + random(3));
    expect(split(text, patterns)).toEqual(splitWhole(text, patterns));
    // Without a space in it, as Chinese and Thai are written.
    const dense = text.replaceAll(/\s/gu, "");
    expect(split(dense, patterns)).toEqual(splitWhole(dense, patterns));
  });

  test.each(families)("%s cuts a piece that is too long for its regexes", (name) => {
    for (const unit of ["\u0301", "👨‍👩‍👧", "😀", "!", "7", " ", "a"]) {
      const text = unit.repeat(Math.ceil(600_000 / unit.length));
      const pieces = split(text, preTokenizerFor(name).patterns);
      expect(Math.max(...new Set(pieces.map((piece) => piece.length)))).toBeLessThanOrEqual(maxPieceLength);
      expect(pieces.join("")).toBe(text);
      expect(pieces.some((piece) => /\p{Surrogate}/u.test(piece))).toBe(false);
    }
  });

  // Expected pieces worked out by hand from the published regexes.
  test.each([
    ["gpt-2", "I'm 123  years", ["I", "'m", " 123", " ", " years"]],
    ["llama-bpe", "I'M 12345  x\n\n y", ["I", "'M", " ", "123", "45", " ", " x", "\n\n", " y"]],
    ["qwen2", "a12 (b)\n", ["a", "1", "2", " (", "b", ")\n"]],
    ["starcoder", "x12", ["x", "1", "2"]],
    ["falcon", "a+b=12345", ["a", "+", "b", "=", "123", "45"]],
    ["tekken", "HelloWORLDx 12", ["Hello", "WORLDx", " ", "1", "2"]],
    ["gpt-4o", "HelloWorld's/ 1234", ["Hello", "World's", "/", " ", "123", "4"]],
    ["deepseek-v3", "a中文b 1234!x", ["a", "中文", "b", " ", "123", "4", "!x"]],
    ["deepseek-llm", "Éé aé ب中 12  ", ["Éé", " a", "é", " ب", "中", " ", "12", "  "]],
    ["default", "a$b 1234", ["a", "$", "b", " ", "123", "4"]],
    ["bloom", "Hi, du", ["Hi", ",", " du"]],
    // Every name was also compared with llama.cpp's ids for GPT-2's vocabulary, on its own test texts and a dozen scripts.
    ["hy_v4", "a1234.foo", ["a", "123", "4", ".foo"]],
    ["hy_v4", "日本x", ["日本", "x"]],
    ["spark2_5", "a1234 .\r\n\nb", ["a", "1", "2", "3", "4", " .", "\r", "\n", "\n", "b"]],
    ["ufakzeka", "İstanbul'da 12", ["İstanbul", "'da", " ", "1", "2"]],
    ["minicpm5", "a12345 b", ["a", "123", "45", " b"]],
    ["laguna", "a \n\n b1", ["a", " ", "\n\n", " b", "1"]],
    ["jais-2", "a       b", ["a", "    ", "  ", " b"]],
    ["youtu", "가나abc、漢字 12", ["가나", "abc", "、", "漢字", " ", "1", "2"]],
    ["tiny_aya", "1234567 it's cafés", ["1", "234", "567", " it's", " cafés"]],
    ["cohere2moe", "12345", ["12", "345"]],
    ["cohere2moe", "12345x 1_ 1234é", ["12", "345", "x", " ", "1", "_", " ", "1", "234", "é"]],
    ["granite-embed-multi-97m", "fooBar cafés", ["foo", "Bar", " cafés"]],
    ["superbpe", "n 1234567", ["n ", "1", "234", "567"]],
    ["afmoe", "12345 ไทยx", ["12", "345", " ", "ไทย", "x"]],
    ["exaone-moe", "한국 어 a1", ["한국 어 a", "1"]],
    ["kimi-k2", "漢字abc'S 12345", ["漢字", "abc'S", " ", "123", "45"]],
    ["talkie", "fooBar's", ["foo", "Bar's"]],
  ] as const)("%s splits %j", (name, text, pieces) => {
    expect(split(text, preTokenizerFor(name).patterns)).toEqual(pieces);
  });

  test("white space is Unicode's: U+0085 is, U+FEFF is not", () => {
    const { patterns } = preTokenizerFor("gpt-2");
    expect(split("a\u0085\u0085b\ufeffc", patterns)).toEqual(["a", "\u0085", "\u0085", "b", "\ufeff", "c"]);
  });
});
