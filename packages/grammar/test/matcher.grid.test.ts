import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  and,
  choice,
  compile,
  type Grammar,
  GrammarError,
  type Matcher,
  matches,
  type Regular,
  reference,
  repeat,
  sequence,
  text,
  vocabulary,
} from "../src/index.ts";
import { grammars, letters, textsOf } from "./grammars.ts";
import { isWholeGrid } from "./grid.ts";

const encoder = new TextEncoder();
const tokens = ["a", "b", "c", "ab", "ba", "aa", "abc", "bab", "ab", "", "<end>", "<special>", "cab", "aaa"];
const [endId, specialId] = [10, 11];
const tiny = vocabulary(
  tokens.map((token) => encoder.encode(token)),
  { endIds: [endId], specialIds: [specialId] },
);

const words = [""];
for (const word of words) if (word.length < 4) words.push(`${word}a`, `${word}b`, `${word}c`);

const known = new Map<Regular, ReadonlySet<string>>();
function textsOfRegular(regular: Regular): ReadonlySet<string> {
  let texts = known.get(regular);
  if (texts === undefined) {
    texts = new Set(words.filter((word) => matches(regular, word)));
    known.set(regular, texts);
  }
  return texts;
}

/** Compiles, or gives undefined for a grammar that matches nothing. */
function compiled(grammar: Grammar) {
  try {
    return compile(grammar, tiny);
  } catch (error) {
    if (error instanceof GrammarError && error.code === "GRAMMAR_EMPTY") return undefined;
    throw error;
  }
}

function allowed(mask: Uint32Array): number[] {
  return tokens.flatMap((_, id) => (((mask[id >> 5]! >> (id & 31)) & 1) === 1 ? [id] : []));
}

describe("matchers of random grammars", () => {
  test("accept exactly the texts of the grammar", () => {
    fc.assert(
      fc.property(grammars, (grammar) => {
        const texts = textsOf(grammar, 4, textsOfRegular);
        const constraint = compiled(grammar);
        for (const word of words) {
          const matcher = constraint?.matcher();
          matcher?.acceptBytes(encoder.encode(word));
          expect(matcher?.isComplete ?? false, word).toBe(texts.has(word));
          if (matcher?.isDead) expect([...texts].filter((each) => each.startsWith(word))).toEqual([]);
        }
      }),
      { numRuns: 100, seed: 1 },
    );
  });

  test("allow exactly the tokens that do not end in death, after every prefix, however it was cut", () => {
    fc.assert(
      fc.property(grammars, fc.infiniteStream(fc.nat()), (grammar, choices) => {
        const matcher = compiled(grammar)?.matcher();
        if (matcher === undefined) return;
        const byBytes = matcher.fork();
        const mask = new Uint32Array(1);
        for (let step = 0; step < 6; step++) {
          const isAny = matcher.mask(mask);
          const wanted = tokens.flatMap((token, id) => {
            if (id === endId) return matcher.isComplete ? [id] : [];
            if (id === specialId || token === "") return [];
            const probe = matcher.fork();
            return probe.acceptBytes(encoder.encode(token)) ? [id] : [];
          });
          expect(allowed(mask)).toEqual(wanted);
          expect(isAny).toBe(wanted.length > 0);
          // The vocabulary has every byte of these texts, so the text can always go on or end.
          expect(isAny).toBe(true);
          const texts = wanted.filter((id) => id !== endId);
          if (texts.length === 0) break;
          const id = texts[choices.next().value! % texts.length]!;
          expect(matcher.accept(id)).toBe(true);
          for (const byte of encoder.encode(tokens[id]!)) byBytes.acceptBytes(Uint8Array.of(byte));
          const again = new Uint32Array(1);
          byBytes.mask(again);
          matcher.mask(mask);
          expect(again).toEqual(mask);
        }
      }),
      { numRuns: isWholeGrid ? 500 : 150, seed: 2 },
    );
  });

  test("force a byte exactly where one byte is possible and the end is not", () => {
    fc.assert(
      fc.property(grammars, (grammar) => {
        const matcher = compiled(grammar)?.matcher();
        if (matcher === undefined) return;
        const forced = matcher.forced().subarray(0, 10);
        for (const [i, byte] of [...forced, undefined].entries()) {
          const possible = ["a", "b", "c"].filter((letter) => matcher.fork().acceptBytes(encoder.encode(letter)));
          if (byte === undefined) {
            if (forced.length < 10) expect(matcher.isComplete || possible.length !== 1, `${i}`).toBe(true);
          } else {
            expect(possible).toEqual([String.fromCharCode(byte)]);
            expect(matcher.isComplete).toBe(false);
            matcher.acceptBytes(Uint8Array.of(byte));
          }
        }
      }),
      { numRuns: isWholeGrid ? 300 : 100, seed: 3 },
    );
  });
});

describe("intersections whose counts matter", () => {
  const runs = Array.from({ length: 24 }, (_, i) => [
    "a".repeat(i + 1),
    `b${"a".repeat(i)}`,
    "ab".repeat(i + 1),
    `${"b".repeat(i + 1)}c`,
  ]).flat();
  const manyRuns = vocabulary(runs.map((token) => encoder.encode(token)));
  const counted = fc.tuple(fc.nat(140), fc.nat(140), fc.nat(40), fc.nat(40)).map(([most, least, turns, more]): Grammar => {
    const word = sequence([repeat("a", 1, 3), "b"]);
    const words = choice([
      sequence([repeat(word, turns, turns + more), repeat("a", 0, 5)]),
      sequence(["b", repeat(letters("a", "b"), least, Infinity)]),
    ]);
    return { start: sequence([and([repeat(letters("a", "b"), 0, most), words]), "c"]), rules: {} };
  });

  test("have masks that are right for every token after every prefix", () => {
    fc.assert(
      fc.property(counted, fc.infiniteStream(fc.nat()), (grammar, choices) => {
        let matcher: Matcher;
        try {
          matcher = compile(grammar, manyRuns, { budget: { steps: 1e9, bytes: 1e9 } }).matcher();
        } catch (error) {
          expect(error).toMatchObject({ code: "GRAMMAR_EMPTY" });
          return;
        }
        const mask = new Uint32Array(manyRuns.maskWords);
        for (let step = 0; step < 12; step++) {
          matcher.mask(mask);
          const wanted = runs.map((token) => matcher.fork().acceptBytes(encoder.encode(token)));
          expect(runs.map((_, id) => ((mask[id >> 5]! >>> (id & 31)) & 1) === 1)).toEqual(wanted);
          const ids = wanted.flatMap((isAllowed, id) => (isAllowed ? [id] : []));
          if (ids.length === 0) break;
          matcher.accept(ids[choices.next().value! % ids.length]!);
        }
      }),
      { numRuns: 40, seed: 4 },
    );
  });
});

describe("matcher", () => {
  const list: Grammar = {
    start: sequence(["[", repeat(sequence([reference("item"), ","]), 0, Infinity), reference("item"), "]"]),
    rules: { item: choice([repeat(letters("a", "c"), 1, Infinity), reference("list")]), list: sequence(["[", reference("item"), "]"]) },
  };

  test("rolls back tokens one by one, also from death, and forks go their own way", () => {
    const matcher = compile({ start: repeat("ab", 1, 2), rules: {} }, tiny).matcher();
    matcher.accept(3);
    const fork = matcher.fork();
    expect(matcher.accept(2)).toBe(false);
    expect(matcher.isDead).toBe(true);
    matcher.rollback(1);
    expect(matcher.isComplete).toBe(true);
    expect(matcher.accept(endId)).toBe(true);
    expect(matcher.mask(new Uint32Array(1))).toBe(false);
    expect(fork.accept(3)).toBe(true);
    expect(() => fork.rollback(3)).toThrow(expect.objectContaining({ code: "GRAMMAR_ARGUMENT" }));
    fork.rollback(2);
    expect(new TextDecoder().decode(fork.forced())).toBe("ab");
  });

  test("end tokens and special tokens are never allowed as text", () => {
    const matcher = compile({ start: choice(["<end>", "<special>"]), rules: {} }, tiny).matcher();
    expect(matcher.accept(endId)).toBe(false);
    matcher.rollback(1);
    expect(matcher.accept(specialId)).toBe(false);
    matcher.rollback(1);
    expect(matcher.acceptBytes(encoder.encode("<end>"))).toBe(true);
    const mask = new Uint32Array(1);
    matcher.mask(mask);
    expect(allowed(mask)).toEqual([endId]);
  });

  test("nested lists", () => {
    const matcher = compile(list, tiny).matcher();
    expect(matcher.acceptBytes(encoder.encode("[ab,[[c]],a]"))).toBe(true);
    expect(matcher.isComplete).toBe(true);
    expect(matcher.acceptBytes(encoder.encode("]"))).toBe(false);
  });

  test("wrong arguments are refused", () => {
    const matcher = compile(list, tiny).matcher();
    for (const run of [
      () => matcher.mask(new Uint32Array(0)),
      () => matcher.accept(tokens.length),
      () => matcher.accept(-1),
      () => matcher.rollback(-1),
      () => matcher.acceptBytes("a" as never),
      () => compile(list, tiny, { budget: { bytes: Number.NaN } }),
      () => vocabulary([new Uint8Array(1)], { endIds: [1] }),
      () => vocabulary(["a" as never]),
      () => vocabulary(undefined as never),
      () => compile(list, {} as never),
      () => compile(undefined as never, tiny),
    ])
      expect(run).toThrow(expect.objectContaining({ code: "GRAMMAR_ARGUMENT" }));
    expect(() => compile({ start: reference("a"), rules: {} }, tiny)).toThrow(expect.objectContaining({ code: "GRAMMAR_REFERENCE" }));
    expect(() => compile({ start: reference("a"), rules: { a: sequence([text("b"), reference("a")]) } }, tiny)).toThrow(
      expect.objectContaining({ code: "GRAMMAR_EMPTY" }),
    );
  });
});
