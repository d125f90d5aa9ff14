import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { GrammarError, type JsonValue, PartialJson, partialJson } from "../src/index.ts";

/** Whether `later` is `earlier` or what it may grow to. */
function growsTo(earlier: JsonValue | undefined, later: JsonValue | undefined): boolean {
  if (earlier === undefined || Object.is(earlier, later)) return true;
  if (typeof earlier === "string") return typeof later === "string" && later.startsWith(earlier);
  if (typeof earlier !== "object" || earlier === null || typeof later !== "object" || later === null) return false;
  if (Array.isArray(earlier) !== Array.isArray(later)) return false;
  return Object.entries(earlier).every(
    ([key, value]) => Object.hasOwn(later, key) && growsTo(value, (later as Record<string, JsonValue>)[key]),
  );
}

describe("partialJson", () => {
  test.each<[string, JsonValue | undefined]>([
    ["", undefined],
    [" \n", undefined],
    ["[", []],
    ['{"a', {}],
    ['{"a":', {}],
    ['{"a": "x', { a: "x" }],
    ['{"a": "x\\u00e9', { a: "xé" }],
    ['{"a": "x\\u00', { a: "x" }],
    ['{"a": "x\\', { a: "x" }],
    ['"\ud83d', ""],
    ['"a\\ud83d', "a"],
    ['"a\\ud83d\\ude0', "a"],
    ['"a\\ud83d\\ude00', "a😀"],
    ['"\\\\', "\\"],
    ["[1, 2", [1]],
    ["[1, 2 ", [1, 2]],
    ["[1, -", [1]],
    ["12", 12],
    ["12.", 12],
    ["1e", 1],
    ["-", undefined],
    ["t", true],
    ["[fal", [false]],
    ['{"a":nul', { a: null }],
    ['{"a":{"b":[1,', { a: { b: [1] } }],
    ['{"__proto__":{"a":"b', JSON.parse('{"__proto__":{"a":"b"}}')],
    ['{"a":1,"a":[', { a: [] }],
  ])("%j", (text, value) => {
    expect(partialJson(text)).toEqual(value);
  });

  test("beginnings of random values grow to the value and never throw", () => {
    const property = fc.property(
      fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }),
      fc.constantFrom(undefined, 2, "\t"),
      (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        let before: JsonValue | undefined;
        for (let end = 0; end <= text.length; end++) {
          const now = partialJson(text.slice(0, end));
          // A number that is the whole text counts as far as it goes.
          if (typeof value !== "number") expect(growsTo(before, now), text.slice(0, end)).toBe(true);
          before = now;
        }
        expect(JSON.stringify(before)).toBe(JSON.stringify(JSON.parse(text)));
      },
    );
    fc.assert(property, { seed: 20, numRuns: 300 });
  });

  test.each([
    "}",
    "[}",
    "{]",
    "{1",
    "[1 2",
    "nulx",
    "nullx",
    '"\\x',
    '"\\u00g',
    "01",
    "[01,",
    '{"a" 1',
    "[,",
    "1 2",
    "[1,]",
    '{"a":1,}',
    '"\n',
    "-a",
    "[1-",
    "[--",
    "1.e",
    "[1.]",
    "+1",
  ])("%j begins no JSON text", (text) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(() => partialJson(text)).toThrow(
      expect.objectContaining({ code: "GRAMMAR_SYNTAX", line: expect.any(Number), column: expect.any(Number) }),
    );
  });

  test("random texts have a value or a GrammarError, and all JSON texts have theirs", () => {
    const pieces = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"',
      "a",
      "\\",
      "u00e9",
      "1",
      "-",
      ".",
      "e",
      "true",
      "nul",
      " ",
      "\n",
      "😀",
      "\ud83d",
    );
    const property = fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
      const text = parts.join("");
      let expected: { value: JsonValue } | undefined;
      try {
        expected = { value: JSON.parse(text) };
      } catch {}
      try {
        const value = partialJson(text);
        if (expected !== undefined) expect(value).toEqual(expected.value);
      } catch (error) {
        expect(error).toBeInstanceOf(GrammarError);
        expect(expected).toBe(undefined);
      }
    });
    fc.assert(property, { seed: 20, numRuns: 5000 });
  });

  test("a million open containers do not overflow the stack", () => {
    let [value, depth] = [partialJson('[{"a":'.repeat(5e5)), 0];
    for (; typeof value === "object" && value !== null; depth++) value = Array.isArray(value) ? value[0] : value.a;
    expect(depth).toBe(1e6);
  });
});

describe("PartialJson", () => {
  test("gives every beginning its value, however the text is cut, and leaves earlier values alone", () => {
    const property = fc.property(
      fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }),
      fc.constantFrom(undefined, 2),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      (value, indent, sizes) => {
        const text = JSON.stringify(value, null, indent);
        const reader = new PartialJson();
        const seen: [value: JsonValue | undefined, copy: string | undefined][] = [];
        for (let at = 0, i = 0; at < text.length; i++) {
          const size = sizes[i % sizes.length]!;
          const now = reader.push(text.slice(at, at + size)).value;
          at = Math.min(text.length, at + size);
          expect(now, text.slice(0, at)).toEqual(partialJson(text.slice(0, at)));
          seen.push([now, JSON.stringify(now)]);
        }
        for (const [now, copy] of seen) expect(JSON.stringify(now)).toBe(copy);
      },
    );
    fc.assert(property, { seed: 20, numRuns: 300 });
  });

  test("reads each piece once", () => {
    const text = `{"a": [${'[1, true, "text"], '.repeat(400)}0], "b": "${"abc \\n".repeat(3000)}"}`;
    const units = vi.spyOn(RegExp.prototype, "exec");
    const reader = new PartialJson();
    for (const character of text) reader.push(character);
    expect(reader.value).toEqual(JSON.parse(text));
    expect(units.mock.calls.reduce((sum, [given]) => sum + given.length, 0)).toBeLessThan(30 * text.length);
    units.mockRestore();
  });

  test("errors have their place in the whole text", () => {
    const reader = new PartialJson().push('{"a": 1,\n').push(' "b": ');
    expect(() => reader.push("?")).toThrow(expect.objectContaining({ code: "GRAMMAR_SYNTAX", line: 2, column: 7 }));
  });
});
