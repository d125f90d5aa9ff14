import { describe, expect, test } from "vitest";
import { utf8Ranges } from "../src/expression/utf8.ts";
import { and, anyText, bytes, choice, codePoints, GrammarError, never, not, reference, repeat, sequence, text } from "../src/index.ts";

describe("builders", () => {
  test("expressions of regular parts are regular, references are not", () => {
    expect(sequence(["a", choice(["b", anyText])]).isRegular).toBe(true);
    expect(sequence(["a", reference("b")]).isRegular).toBe(false);
    expect(choice([]).kind).toBe(never.kind);
  });

  test("ranges are sorted and merged, and surrogates left out", () => {
    expect(
      bytes([
        [5, 9],
        [1, 3],
        [4, 4],
      ]),
    ).toMatchObject({ ranges: [[1, 9]] });
    expect(codePoints([[0xd000, 0xe001]])).toMatchObject({
      ranges: [
        [0xd000, 0xd7ff],
        [0xe000, 0xe001],
      ],
    });
  });

  test.each([
    ["a lone surrogate", () => text("\ud800")],
    ["a negative count", () => repeat("a", -1, 2)],
    ["a maximum below the minimum", () => repeat("a", 3, 2)],
    ["a byte above 255", () => bytes([[0, 256]])],
    ["an intersection with a reference", () => and([reference("a") as never])],
    ["a list that is no list", () => sequence("ab" as never)],
    ["an item that is no expression", () => choice([1 as never])],
    ["a range that is no range", () => bytes([1 as never])],
    ["a name that is no text", () => reference(undefined as never)],
    ["the complement of a reference", () => not(reference("a") as never)],
  ])("%s is refused", (_, build) => {
    expect(build).toThrow(GrammarError);
  });
});

describe("utf8Ranges", () => {
  test.each([
    [0, 0x10ffff],
    [0x7f, 0x80],
    [0x3a9, 0x20ac],
    [0xfffd, 0x10001],
    [0x1f600, 0x1f64f],
  ] as const)("covers exactly U+%i to U+%i", (from, to) => {
    const sequences = utf8Ranges([from, to]);
    const matches = (codePoint: number) => {
      const encoded = new TextEncoder().encode(String.fromCodePoint(codePoint));
      return sequences.filter(
        (ranges) => ranges.length === encoded.length && ranges.every(([a, b], i) => encoded[i]! >= a && encoded[i]! <= b),
      ).length;
    };
    for (let codePoint = 0; codePoint <= 0x10ffff; codePoint += 0x35) {
      if (codePoint >= 0xd800 && codePoint <= 0xdfff) continue;
      expect(matches(codePoint)).toBe(codePoint >= from && codePoint <= to ? 1 : 0);
    }
    for (const edge of [from, to]) expect(matches(edge)).toBe(1);
  });
});
