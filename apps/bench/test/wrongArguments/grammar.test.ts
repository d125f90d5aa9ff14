import * as grammar from "@centella/grammar";
import * as errors from "@centella/grammar/errors";
import { test } from "vitest";
import { callExports, callMethods } from "./harness.ts";
import { whole } from "./values.ts";

const digit = grammar.codePoints([[0x30, 0x39]]);
const budget = { steps: 4e6, bytes: 1e7 };
const { signal } = new AbortController();
const vocabulary = grammar.vocabulary([...new TextEncoder().encode("0123")].map((byte) => Uint8Array.of(byte)));
const numbers: grammar.Grammar = { start: grammar.repeat(digit, 1, 3), rules: {} };
const schema = {
  type: "object",
  properties: { a: { type: "integer", minimum: 0 }, b: { enum: [1, "x"] }, c: { const: { d: [null] } } },
  required: ["a"],
};
const schemaOptions = {
  whitespace: "any",
  maxWhitespace: 4,
  order: "schema",
  unknownKeywords: "warn",
  budget,
  signal,
};

test("grammar: wrong arguments are typed errors", async () => {
  await callExports("grammar", grammar, {
    PartialJson: [],
    and: [[whole(digit), "1"]],
    anyTextUntil: ["end"],
    stringFormat: ["date"],
    automaton: [[{ isAccepting: true, next: [[0x30, 0x39, 0]] }]],
    bytes: [[[0, 9]]],
    choice: [["a", whole(digit)]],
    codePoints: [[[0x30, 0x39]]],
    combine: [{ numbers: whole(numbers) }, ({ numbers: part }: Readonly<Record<"numbers", grammar.Expression>>) => part],
    compile: [whole(numbers), whole(vocabulary), { budget, signal }],
    fromGbnf: ["root ::= [0-9]+", { budget }],
    fromJsonSchema: [schema, schemaOptions],
    fromLark: ["start: /[0-9]+/", { json: schemaOptions, budget }],
    fromRegex: ["[0-9]+", { flags: "u", anchored: true, budget }],
    isNever: [whole(digit), budget],
    isRegular: [whole(digit)],
    matches: [whole(digit), "1", budget],
    not: [whole(digit)],
    optional: [whole(digit)],
    partialJson: ['{"a":1'],
    reference: ["digit"],
    repeat: [whole(digit), 1, 3],
    sequence: [["a", whole(digit)]],
    tagged: [[{ begin: "<a>", content: whole(digit), end: "</a>" }], { triggers: ["<a"], min: 0, max: 2 }],
    terminal: [whole(digit)],
    text: ["a"],
    vocabulary: [[Uint8Array.of(0x30), Uint8Array.of(0x31)], { endIds: [1], specialIds: [0] }],
  });
  await callExports("errors", errors, {});
  await callMethods("PartialJson", new grammar.PartialJson(), { push: ['{"a":1'] });
  const constraint = grammar.compile(numbers, vocabulary);
  await callMethods("constraint", constraint, { matcher: [] });
  await callMethods("matcher", constraint.matcher(), {
    accept: [0],
    acceptBytes: [Uint8Array.of(0x30)],
    fork: [],
    forced: [],
    mask: [new Uint32Array(vocabulary.maskWords)],
    rollback: [0],
  });
});
