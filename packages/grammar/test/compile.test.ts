import { describe, expect, test } from "vitest";
import {
  automaton,
  choice,
  compile,
  type Expression,
  type Grammar,
  reference,
  repeat,
  sequence,
  terminal,
  text,
  vocabulary,
} from "../src/index.ts";
import { letters } from "./grammars.ts";

const tokens = ["a", "b"].map((token) => new TextEncoder().encode(token));
const small = vocabulary(tokens);

function plain(start: Expression): Grammar {
  return { start, rules: {} };
}

describe("compile", () => {
  test("grammars of the same structure share a constraint", () => {
    const build = (): Grammar => ({
      start: sequence([reference("x"), repeat(choice(["a", reference("x")]), 0, 3)]),
      rules: { x: letters("a", "b"), unused: text("b") },
    });
    expect(compile(build(), small)).toBe(compile(build(), small));
    expect(compile(build(), small)).not.toBe(compile(build(), vocabulary(tokens)));
    expect(compile(build(), small)).not.toBe(compile(build(), small, { budget: { steps: 1e7 } }));
  });

  test.each<[string, Grammar, Grammar]>([
    ["texts", plain(text("a")), plain(text("b"))],
    ["counts", plain(repeat("a", 1, 2)), plain(repeat("a", 1, 3))],
    ["kinds", plain(sequence(["a", "b"])), plain(choice(["a", "b"]))],
    ["the bounds of terminals", plain(text("a")), plain(terminal("a"))],
    [
      "the states of automata",
      plain(automaton([{ isAccepting: true, next: [] }])),
      plain(automaton([{ isAccepting: true, next: [[97, 97, 0]] }])),
    ],
    ["order", plain(sequence(["a", "b"])), plain(sequence(["b", "a"]))],
    ["rules", { start: reference("x"), rules: { x: text("a") } }, { start: reference("x"), rules: { x: text("b") } }],
    [
      "references",
      { start: reference("x"), rules: { x: text("a"), y: text("b") } },
      { start: reference("y"), rules: { x: text("a"), y: text("b") } },
    ],
    ["texts that look like keys", plain(text('a"\ntext "b')), plain(choice(['a"', "b"]))],
  ])("grammars that differ in %s do not", (_, one, other) => {
    expect(compile(one, small)).not.toBe(compile(other, small));
  });

  test("the constraints that were used last are kept within a limit of bytes", () => {
    const big = (n: number) => plain(text(`a${"b".repeat(1e6)}${n}`));
    const first = compile(big(0), small);
    for (let n = 1; n < 10; n++) compile(big(n), small);
    expect(compile(big(0), small)).toBe(first);
    for (let n = 10; n < 60; n++) compile(big(n), small);
    expect(compile(big(0), small)).not.toBe(first);
  });
});
