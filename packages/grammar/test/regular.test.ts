import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Meter } from "../src/budget.ts";
import {
  and,
  anyText,
  automaton,
  bytes,
  choice,
  codePoints,
  empty,
  GrammarError,
  isNever,
  matches,
  never,
  not,
  type Regular,
  repeat,
  sequence,
  text,
} from "../src/index.ts";
import { Automaton } from "../src/regular/automaton.ts";

const letter = (first: string, last = first) => codePoints([[first.codePointAt(0)!, last.codePointAt(0)!]]);

/** Random expressions over the letters a to c. */
const regulars = fc.letrec<{ regular: Regular }>((tie) => ({
  regular: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    fc.constantFrom("", "a", "b", "ab", "ba", "abc").map(text),
    fc.constantFrom(letter("a", "b"), letter("b", "c"), never, bytes([[0x61, 0x63]])),
    fc.array(tie("regular"), { maxLength: 3 }).map(sequence as (items: Regular[]) => Regular),
    fc.array(tie("regular"), { maxLength: 3 }).map(choice as (items: Regular[]) => Regular),
    fc.array(tie("regular"), { maxLength: 3 }).map(and),
    tie("regular").map(not),
    fc
      .tuple(tie("regular"), fc.nat(3), fc.constantFrom(0, 1, 2, Infinity))
      .map(([item, min, more]) => repeat(item, min, min + more) as Regular),
  ),
})).regular;

/** Where a match that starts at `start` may end, found by trying everything. */
function ends(regular: Regular, input: string, start: number): Set<number> {
  switch (regular.kind) {
    case "text":
      return new Set(input.startsWith(regular.text, start) ? [start + regular.text.length] : []);
    case "bytes":
    case "codePoints": {
      const code = input.charCodeAt(start);
      return new Set(regular.ranges.some(([a, b]) => code >= a && code <= b) ? [start + 1] : []);
    }
    case "sequence":
      return regular.items.reduce((froms, item) => endsFrom(item, input, froms), new Set([start]));
    case "choice":
      return new Set(regular.items.flatMap((item) => [...ends(item, input, start)]));
    case "and":
      return new Set(positions(input, start).filter((end) => regular.items.every((item) => ends(item, input, start).has(end))));
    case "automaton":
      throw new Error("automaton: not among the random expressions");
    case "not":
      return new Set(positions(input, start).filter((end) => !ends(regular.item, input, start).has(end)));
    case "repeat": {
      const found = new Set<number>();
      let froms = new Set([start]);
      // After as many turns as there are positions, further turns only match the empty text.
      for (let count = 0; count <= Math.min(regular.max, regular.min + input.length + 1); count++) {
        if (count >= regular.min) for (const from of froms) found.add(from);
        froms = endsFrom(regular.item, input, froms);
      }
      return found;
    }
  }
}

function endsFrom(regular: Regular, input: string, starts: ReadonlySet<number>): Set<number> {
  return new Set([...starts].flatMap((start) => [...ends(regular, input, start)]));
}

function positions(input: string, start: number): number[] {
  return Array.from({ length: input.length - start + 1 }, (_, i) => start + i);
}

/** All texts of up to four letters. */
const inputs = [""];
for (const input of inputs) if (input.length < 4) inputs.push(`${input}a`, `${input}b`, `${input}c`);

describe("regular expressions", () => {
  test("of automata match what the automata accept, alone and inside other expressions", () => {
    // Binary numbers that are multiples of 3.
    const next = (remainder: number): [number, number, number][] => [
      [0x30, 0x30, (2 * remainder) % 3],
      [0x31, 0x31, (2 * remainder + 1) % 3],
    ];
    const multiples = automaton([0, 1, 2].map((remainder) => ({ isAccepting: remainder === 0, next: next(remainder) })));
    const numbers = Array.from({ length: 64 }, (_, i) => i);
    expect(numbers.filter((number) => matches(multiples, number.toString(2)))).toEqual(numbers.filter((number) => number % 3 === 0));
    expect(matches(multiples, "2")).toBe(false);
    const others = and([not(multiples), repeat(bytes([[0x30, 0x31]]), 4, 4)]);
    expect(["1001", "1000", "100", "1010"].filter((input) => matches(others, input))).toEqual(["1000", "1010"]);
    expect(isNever(and([multiples, text("1")]))).toBe(true);
    expect(isNever(automaton([{ isAccepting: false, next: [[0, 255, 0]] }]))).toBe(true);
  });

  test("of automata have a definition for each state", () => {
    expect(() => automaton([])).toThrow(GrammarError);
    expect(() => automaton([{ isAccepting: true, next: [[0, 255, 1]] }])).toThrow(GrammarError);
  });

  test("match what trying everything matches", () => {
    fc.assert(
      fc.property(regulars, fc.constantFrom(...inputs), (regular, input) => {
        expect(matches(regular, input)).toBe(ends(regular, input, 0).has(input.length));
      }),
      { numRuns: 3000, seed: 1 },
    );
  });

  test("are empty exactly if no text matches", () => {
    fc.assert(
      fc.property(regulars, (regular) => {
        if (inputs.some((input) => ends(regular, input, 0).has(input.length))) expect(isNever(regular)).toBe(false);
        else if (isNever(regular)) expect(isNever(and([regular, "aaaaa"]))).toBe(true);
      }),
      { numRuns: 500, seed: 2 },
    );
  });

  test.each([
    ["a text and its complement", and(["a", not("a")]), true],
    ["texts of 3 letters that have 4", and([repeat(letter("a"), 3, 3), repeat(letter("a", "b"), 4, 4)]), true],
    ["texts of even and odd length", and([repeat("aa", 0, Infinity), sequence(["a", repeat("aa", 0, Infinity)])]), true],
    ["a text among many", and([choice(["x", "y", "z"]), not(choice(["x", "z"]))]), false],
    ["a long minimum", and([repeat(letter("a", "c"), 5000, Infinity), repeat(letter("b", "d"), 0, 1e9)]), false],
    ["a long text other than a short one", and([repeat("a", 1e9, 1e9), not("b")]), false],
    ["nothing", never, true],
    ["the empty text", empty, false],
  ])("emptiness of %s", (_, regular, expected) => {
    expect(isNever(regular)).toBe(expected);
  });

  test("any text is valid UTF-8 and nothing else", () => {
    for (const valid of ["", "Grüße", "日本語", "🎉 \0"]) expect(matches(anyText, valid)).toBe(true);
    for (const invalid of [[0x80], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]])
      expect(matches(anyText, Uint8Array.from(invalid))).toBe(false);
  });

  test("huge counts cost no more than small ones", () => {
    expect(matches(repeat("ab", 0, 1e9), "ab".repeat(10))).toBe(true);
    expect(matches(repeat("ab", 1e9, 1e9), "abab")).toBe(false);
    expect(isNever(repeat("a", 1, 1e9))).toBe(false);
  });

  test("alternatives that another one contains, and conditions that another one implies, add no states", () => {
    const characters = () =>
      repeat(
        choice([
          codePoints([
            [0x20, 0x21],
            [0x23, 0x5b],
            [0x5d, 0x10ffff],
          ]),
          "\\n",
          "\\t",
        ]),
        0,
        Infinity,
      );
    const containing = (...words: string[]) =>
      sequence([...words.flatMap((word) => [characters(), ...[...word].map((each) => letter(each))]), characters(), '"']);
    const states = new Automaton(new Meter());
    const any = states.stateOf(containing());
    expect(states.stateOf(choice([containing("new"), containing(), containing("ü", "a")]))).toBe(any);
    expect(states.stateOf(choice([containing(), and([containing("new"), containing("old")])]))).toBe(any);
    expect(states.stateOf(and([containing("new"), containing()]))).toBe(states.stateOf(containing("new")));
    expect(states.stateOf(choice([containing(), containing('"')]))).not.toBe(any);
  });

  test.each([
    ["a counter that no search can finish", () => isNever(and([repeat(letter("a", "c"), 1e9, 1e9), not(sequence([anyText, "b"]))]))],
    ["an intersection of counters", () => isNever(and([repeat("aaa", 1e8, 1e8), repeat("aa", 1e8, 1e8)]))],
    ["deep nesting", () => matches(nested(1e6), "a")],
  ])("%s ends in a budget error", (_, run) => {
    expect(run).toThrow(expect.objectContaining({ code: "GRAMMAR_BUDGET" }));
  });

  test("a?ⁿaⁿ is decided within the budget", () => {
    const n = 1000;
    const regular = sequence([repeat(sequence([choice(["a", ""])]), n, n), repeat("a", n, n)]);
    expect(matches(regular, "a".repeat(n))).toBe(true);
    expect(matches(regular, "a".repeat(2 * n + 1))).toBe(false);
  });
});

/** ((((a)*b)*b)*…) */
function nested(levels: number): Regular {
  let regular = text("a");
  for (let i = 0; i < levels; i++) regular = repeat(sequence([regular, "b"]), 0, Infinity) as Regular;
  return regular;
}
