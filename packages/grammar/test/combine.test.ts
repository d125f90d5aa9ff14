import { describe, expect, test } from "vitest";
import { choice, combine, type Expression, fromGbnf, type Grammar, reference, repeat, sequence } from "../src/index.ts";
import { expectMatches } from "./matching.ts";

const nested = fromGbnf('root ::= "(" root ")" | "a"');
const bracketed = fromGbnf('root ::= "[" root "]" | "b"');

describe("combine", () => {
  test("rules of the same name in several grammars stay apart", () => {
    const grammar = combine({ nested, bracketed }, (parts) => sequence([parts.nested, "+", repeat(parts.bracketed, 1, 2)]));
    expectMatches(grammar, ["a+b", "((a))+[b][[b]]"], ["(b)+b", "a+a", "[a]+b", "a+bbb"]);
    expect(Object.keys(grammar.rules)).toEqual(["nested/root", "bracketed/root"]);
  });

  test("combined grammars can be combined again", () => {
    const inner = combine({ nested }, (parts) => parts.nested);
    const grammar = combine({ inner, nested }, (parts) => choice([parts.inner, sequence(["x", parts.nested])]));
    expectMatches(grammar, ["(a)", "x(a)"], ["xx(a)"]);
  });

  test("deep expressions do not overflow the stack, and shared parts stay shared", () => {
    let start: Expression = reference("x");
    for (let i = 0; i < 1e5; i++) start = sequence(["a", choice([start, "b"])]);
    const deep: Grammar = { start, rules: { x: reference("x") } };
    expect(combine({ deep }, (parts) => parts.deep).rules).toEqual({ "deep/x": reference("deep/x") });
    let doubled: Expression = reference("x");
    for (let i = 0; i < 100; i++) doubled = sequence([doubled, doubled]);
    expect(combine({ doubled: { start: doubled, rules: {} } }, (parts) => parts.doubled).start.kind).toBe("sequence");
  });
});
