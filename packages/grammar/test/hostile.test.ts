import { describe, expect, test, vi } from "vitest";
import {
  and,
  anyText,
  choice,
  compile,
  type Expression,
  type Grammar,
  GrammarError,
  type Matcher,
  not,
  reference,
  repeat,
  sequence,
  vocabulary,
} from "../src/index.ts";
import { letters } from "./grammars.ts";

const encoder = new TextEncoder();
const tokens = [..."abc[],+", "aa", "aaaa", "[[", "]]", "a+", ""];
const endId = tokens.length - 1;
const small = vocabulary(
  tokens.map((token) => encoder.encode(token)),
  { endIds: [endId] },
);

/** What came of it: `true`, or the code of a budget error. Other errors are thrown, a hang runs into the test's time limit. */
function outcome(grammar: Grammar, follow: (matcher: Matcher) => boolean): true | "GRAMMAR_BUDGET" | false {
  try {
    const matcher = compile(grammar, small).matcher();
    const mask = new Uint32Array(1);
    const isRight = follow(matcher);
    matcher.mask(mask);
    return isRight;
  } catch (error) {
    if (error instanceof GrammarError && error.code === "GRAMMAR_BUDGET") return error.code;
    throw error;
  }
}

function plain(start: Expression): Grammar {
  return { start, rules: {} };
}

function deep(levels: number, wrap: (inner: Expression) => Expression): Expression {
  let expression: Expression = reference("leaf");
  for (let i = 0; i < levels; i++) expression = wrap(expression);
  return expression;
}

describe("what costs little", () => {
  test.each<[string, Grammar, string, boolean]>([
    ["(a?){1000}a{1000}", plain(sequence([repeat(choice(["a", ""]), 1000, 1000), repeat("a", 1000, 1000)])), "a".repeat(1500), true],
    [
      "the same of references",
      { start: sequence([repeat(choice([reference("a"), ""]), 99, 99), repeat(reference("a"), 99, 99)]), rules: { a: letters("a") } },
      "a".repeat(150),
      true,
    ],
    [
      "left recursion",
      {
        start: reference("e"),
        rules: { e: choice([sequence([reference("e"), "+", reference("t")]), reference("t")]), t: choice(["a", "b"]) },
      },
      `a${"+b".repeat(3000)}`,
      true,
    ],
    [
      "right recursion",
      {
        start: reference("e"),
        rules: { e: choice([sequence([reference("t"), "+", reference("e")]), reference("t")]), t: choice(["a", "b"]) },
      },
      `${"a+".repeat(3000)}a`,
      true,
    ],
    [
      "hidden left recursion",
      { start: reference("e"), rules: { e: choice([sequence([choice(["", "b"]), reference("e"), "a"]), "a"]) } },
      "a".repeat(500),
      true,
    ],
    [
      "a rule that is only itself",
      { start: choice([reference("e"), "a"]), rules: { e: choice([reference("e"), reference("f")]), f: reference("e") } },
      "a",
      true,
    ],
    [
      "exponentially many derivations",
      { start: reference("s"), rules: { s: choice([sequence([reference("s"), reference("s")]), reference("a"), ""]), a: letters("a") } },
      "a".repeat(60),
      true,
    ],
    [
      "repeated choices of repeats",
      plain(repeat(repeat(choice([repeat("a", 1, 1e9), repeat("b", 1, 1e9)]), 1, 1e9), 1, 1e9)),
      "ab".repeat(200),
      true,
    ],
    [
      "10⁹ turns of a rule",
      { start: repeat(reference("a"), 1, 1e9), rules: { a: sequence([reference("b"), reference("b")]), b: letters("a", "b") } },
      "ab".repeat(500),
      true,
    ],
    [
      "at least 10⁹ turns of a rule",
      { start: repeat(reference("a"), 1e9, Infinity), rules: { a: sequence([reference("b"), reference("b")]), b: letters("a", "b") } },
      "ab".repeat(500),
      false,
    ],
    [
      "10⁹ empty turns",
      { start: repeat(reference("a"), 1e9, 1e9), rules: { a: choice([reference("b"), ""]), b: letters("a", "b") } },
      "ab",
      true,
    ],
    [
      "100,000 words",
      plain(
        choice(Array.from({ length: 1e5 }, (_, i) => `a${"b".repeat(i % 7)}${i.toString(2).replaceAll("0", "a").replaceAll("1", "c")}`)),
      ),
      "aca",
      false,
    ],
  ])("%s", (_, grammar, input, isComplete) => {
    expect(outcome(grammar, (matcher) => matcher.acceptBytes(encoder.encode(input)) && matcher.isComplete === isComplete)).toBe(true);
  });

  test("1,000 levels of brackets", () => {
    const grammar: Grammar = { start: reference("list"), rules: { list: sequence(["[", repeat(reference("list"), 0, Infinity), "]"]) } };
    expect(
      outcome(grammar, (matcher) => matcher.acceptBytes(encoder.encode("[".repeat(1000) + "]".repeat(1000))) && matcher.isComplete),
    ).toBe(true);
  });
});

describe("what may exceed the budget, but never hangs and never overflows the stack", () => {
  const leaf = { leaf: letters("a") };
  test.each<[string, Grammar]>([
    ["200,000 nested sequences", { start: deep(2e5, (inner) => sequence(["[", inner, "]"])), rules: leaf }],
    ["200,000 nested choices", { start: deep(2e5, (inner) => choice(["b", inner])), rules: leaf }],
    ["200,000 nested repeats", { start: deep(2e5, (inner) => sequence([repeat(inner, 0, Infinity), "b"])), rules: leaf }],
    ["200,000 regular levels", plain(deepRegular(2e5))],
    ["2⁶⁰ items by sharing", { start: deep(60, (inner) => sequence([inner, inner])), rules: leaf }],
    ["2⁶⁰ letters by sharing", plain(doubled(60))],
    ["10⁵ rules in a chain", { start: reference("r0"), rules: chain(1e5) }],
    [
      "words apart from 2²⁰ others",
      plain(and([repeat(letters("a", "b"), 0, Infinity), not(sequence([anyText, "a", repeat(letters("a", "b"), 20, 20)]))])),
    ],
    [
      "a choice of many counters",
      plain(choice(Array.from({ length: 2000 }, (_, i) => sequence([repeat(letters("a", "b"), 0, 1e6 + i), `c${i}`])))),
    ],
  ])("%s", (_, grammar) => {
    expect([true, "GRAMMAR_BUDGET"]).toContain(
      outcome(grammar, (matcher) => {
        for (let i = 0; i < 50; i++) matcher.acceptBytes(encoder.encode("ab"));
        return true;
      }),
    );
  });

  test("the budget counts steps, whatever the clock says", () => {
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 100));
    const needed = (steps: number): boolean => {
      try {
        compile({ start: reference("r0"), rules: chain(300) }, small, { budget: { steps } });
        return true;
      } catch (error) {
        expect(error).toMatchObject({ code: "GRAMMAR_BUDGET" });
        return false;
      }
    };
    const sizes = Array.from({ length: 40 }, (_, i) => 250 * i);
    const taken = sizes.map(needed);
    expect(taken).toEqual(taken.toSorted());
    expect(new Set(taken).size).toBe(2);
    expect(sizes.map(needed)).toEqual(taken);
    clock.mockRestore();
  });

  test("a call that takes far longer than its steps should is stopped", () => {
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 12_000));
    expect(() => compile({ start: reference("r0"), rules: chain(1e4) }, small)).toThrow(/20 s of work/);
    clock.mockRestore();
  });

  test("small budgets of memory and steps, and an aborted signal, stop the work", () => {
    const grammar: Grammar = { start: reference("r0"), rules: chain(1e4) };
    const budget = expect.objectContaining({ code: "GRAMMAR_BUDGET" });
    expect(() => compile(grammar, small, { budget: { bytes: 1e4 } })).toThrow(budget);
    expect(() => compile(grammar, small, { budget: { steps: 0 } })).toThrow(budget);
    expect(() => compile(grammar, small, { signal: AbortSignal.abort(new Error("enough")) })).toThrow("enough");
  });

  test("tables that grow with the text are dropped before the budget is exceeded", () => {
    const grammar = plain(sequence([repeat(letters("a", "b"), 0, 1e6), "c"]));
    const constraint = compile(grammar, small, { budget: { bytes: 2e5 } });
    const matcher = constraint.matcher();
    const mask = new Uint32Array(1);
    for (let i = 0; i < 5000; i++) {
      expect(matcher.accept(i % 2)).toBe(true);
      matcher.mask(mask);
      expect(mask[0]).toBe(0b1_1000_0111);
    }
    expect(constraint.bytes).toBeLessThan(2e5);
    matcher.rollback(5000);
    expect(matcher.acceptBytes(encoder.encode("c"))).toBe(true);
  });
});

function deepRegular(levels: number): Expression {
  let expression: Expression = letters("a");
  for (let i = 0; i < levels; i++) expression = repeat(sequence([expression, "b"]), 0, Infinity);
  return expression;
}

function doubled(levels: number): Expression {
  let expression: Expression = letters("a");
  for (let i = 0; i < levels; i++) expression = sequence([expression, expression]);
  return expression;
}

function chain(length: number): Record<string, Expression> {
  const rules: Record<string, Expression> = { [`r${length}`]: letters("a") };
  for (let i = 0; i < length; i++) rules[`r${i}`] = sequence([choice(["a", ""]), reference(`r${i + 1}`)]);
  return rules;
}
