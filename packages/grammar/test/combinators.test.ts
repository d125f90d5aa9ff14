import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  anyTextUntil,
  compile,
  type Expression,
  matches,
  reference,
  repeat,
  sequence,
  type Tag,
  tagged,
  vocabulary,
} from "../src/index.ts";
import { letters } from "./grammars.ts";

const encoder = new TextEncoder();
const bytesOnly = vocabulary(Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)));

/** Whether `input` matches the whole expression, in which `digits` is a rule. */
function isMatch(start: Expression, input: string): boolean {
  const matcher = compile({ start, rules: { digits: repeat(letters("0", "9"), 1, Infinity) } }, bytesOnly).matcher();
  matcher.acceptBytes(encoder.encode(input));
  return matcher.isComplete;
}

describe("anyTextUntil", () => {
  test("matches texts whose only occurrence of the marker is at the end", () => {
    const texts = fc.array(fc.constantFrom("a", "b", "é"), { maxLength: 8 }).map((letters) => letters.join(""));
    fc.assert(
      fc.property(fc.constantFrom("a", "ab", "aba", "aa", "abab", "é"), texts, (marker, before) => {
        for (const input of [before, before + marker])
          expect(matches(anyTextUntil(marker), input)).toBe(
            input.indexOf(marker) === input.length - marker.length && input.includes(marker),
          );
      }),
      { numRuns: 500, seed: 1 },
    );
  });

  test("an empty marker is refused", () => {
    expect(() => anyTextUntil("")).toThrow(expect.objectContaining({ code: "GRAMMAR_ARGUMENT" }));
  });
});

describe("tagged", () => {
  const tags: Tag[] = [
    { begin: "<f=x>", content: reference("digits"), end: "</f>" },
    { begin: "<f=y>", content: sequence(["[", reference("digits"), "]"]), end: "</f>" },
  ];

  test.each([
    ["", true],
    ["free text < f=x", true],
    ["<f=x>12</f>", true],
    ["before <f=x>12</f> between <f=y>[3]</f> after", true],
    ["<f=x>12</f><f=x>1</f>", true],
    ["<f=x>[12]</f>", false],
    ["<f=x>12", false],
    ["<f=x>", false],
    ["text <f=z>12</f>", true],
    ["<<f=x>1</f>", true],
  ])("%j: %s", (input, expected) => {
    expect(isMatch(tagged(tags), input)).toBe(expected);
  });

  test("triggers forbid what only begins like a tag", () => {
    const grammar = tagged(tags, { triggers: ["<f="] });
    expect(isMatch(grammar, "text <f=z>12</f>")).toBe(false);
    expect(isMatch(grammar, "text <f=y>[12]</f>.")).toBe(true);
    expect(isMatch(grammar, "text <f")).toBe(true);
  });

  test("counts are kept", () => {
    const grammar = tagged(tags, { min: 1, max: 2 });
    const call = "<f=x>1</f>";
    expect([0, 1, 2, 3].map((count) => isMatch(grammar, ` ${call.repeat(count)} `))).toEqual([false, true, true, false]);
  });

  test.each([
    ["an empty trigger", { triggers: [""] }],
    ["a trigger in another", { triggers: ["<f=", "f="] }],
    ["a tag without a trigger", { triggers: ["<g"] }],
  ])("%s is refused", (_, options) => {
    expect(() => tagged(tags, options)).toThrow(expect.objectContaining({ code: "GRAMMAR_ARGUMENT" }));
  });
});
