import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  and,
  anyTextUntil,
  choice,
  codePoints,
  compile,
  type Grammar,
  type Matcher,
  not,
  optional,
  reference,
  repeat,
  sequence,
  terminal,
  type Vocabulary,
  vocabulary,
} from "../src/index.ts";
import { hasVocabularies, type Tokens, tokensOf, vocabularyOf } from "./ggmlVocabulary.ts";
import { letters } from "./grammars.ts";

const encoder = new TextEncoder();
const digits = letters("0", "9");
const space = repeat(choice([" ", "\n"]), 0, 3);
const character = choice([
  codePoints([
    [0x20, 0x21],
    [0x23, 0x5b],
    [0x5d, 0x10ffff],
  ]),
  sequence(["\\", choice(['"', "\\", "n", "t", sequence(["u", repeat(choice([digits, letters("a", "f")]), 4, 4)])])]),
]);
const word = repeat(letters("a", "z"), 1, 12);
const characters = repeat(character, 0, Infinity);

/** JSON with what makes masks hard: strings of bounded lengths, with patterns, keys other than some, nesting, free text before it. */
const json: Grammar = {
  start: choice([reference("value"), sequence([anyTextUntil("<json>"), reference("value")])]),
  rules: {
    value: choice([
      reference("string"),
      reference("number"),
      reference("object"),
      reference("array"),
      terminal("true"),
      terminal("null"),
      sequence(["[", repeat(sequence(['"', repeat(character, 0, 5), '"']), 1, 4), "]"]),
    ]),
    string: sequence(['"', characters, '"']),
    number: sequence([
      optional("-"),
      choice(["0", sequence([letters("1", "9"), repeat(digits, 0, 40)])]),
      optional(sequence([".", repeat(digits, 1, 9)])),
    ]),
    key: sequence(['"', and([characters, not(choice(["name", "named", "id"]))]), '"']),
    short: sequence(['"', repeat(character, 1, 40), '"']),
    phrase: sequence(['"', and([repeat(character, 0, 120), sequence([repeat(sequence([word, " "]), 0, 60), word])]), '"']),
    code: sequence(['"', repeat(letters("A", "z"), 2, 8), "-", repeat(digits, 2, 3), '"']),
    member: choice([
      sequence(['"name":', space, reference("short")]),
      sequence(['"phrase":', space, reference("phrase")]),
      sequence(['"id":', space, reference("code")]),
      sequence([reference("key"), ":", space, reference("value")]),
    ]),
    object: sequence([
      "{",
      space,
      optional(sequence([reference("member"), repeat(sequence([",", space, reference("member")]), 0, Infinity)])),
      "}",
    ]),
    array: sequence(["[", space, optional(sequence([reference("value"), repeat(sequence([",", space, reference("value")]), 0, 5)])), "]"]),
  },
};

const texts = [
  '{"name": "Ann of 40 letters", "id":"abC-123","named x":["a",-12.5,{"naming":"ü 日本語 \\u00e9"}]}',
  '["abc""d"]',
  'Let me see. <js <json>{"k":null}',
  '"x',
  `{"phrase":"${"some words ".repeat(10)}at the e`,
];

/** Compares the mask with what happens to every token. */
function expectRightMask(matcher: Matcher, tokens: Tokens, vocabulary: Vocabulary): void {
  const mask = new Uint32Array(vocabulary.maskWords);
  matcher.mask(mask);
  const special = new Set([...tokens.endIds, ...tokens.specialIds]);
  const wrong = tokens.bytes.flatMap((bytes, id) => {
    const isAllowed = special.has(id)
      ? tokens.endIds.includes(id) && matcher.isComplete
      : bytes.length > 0 && matcher.fork().acceptBytes(bytes);
    return ((mask[id >> 5]! >>> (id & 31)) & 1) === Number(isAllowed) ? [] : [`${id} ${JSON.stringify(new TextDecoder().decode(bytes))}`];
  });
  expect(wrong).toEqual([]);
}

function check(tokens: Tokens, seed: number, numRuns: number): void {
  const own = vocabularyOf(tokens);
  const constraint = compile(json, own);
  const prefixes = texts.flatMap((text) => {
    const bytes = encoder.encode(text);
    return Array.from({ length: bytes.length + 1 }, (_, length) => bytes.subarray(0, length));
  });
  fc.assert(
    fc.property(fc.constantFrom(...prefixes), (prefix) => {
      const matcher = constraint.matcher();
      expect(matcher.acceptBytes(prefix)).toBe(true);
      expectRightMask(matcher, tokens, own);
    }),
    { numRuns, seed },
  );
}

describe.skipIf(!hasVocabularies)("real vocabularies (skipped without outside test data at CENTELLA_SHARED)", () => {
  test.each(["gpt-2", "llama-spm", "bert-bge", "llama-bpe"])("masks of %s are right for every token", async (name) => {
    check(await tokensOf(name), 1, name === "llama-bpe" ? 8 : 25);
  });
});

describe("vocabularies of other kinds", () => {
  const pieces = ['▁{"', "▁", "{", '"', "name", '":', "▁the", "日", "},", "id", "A", "b", "-", "12", "<s>", "</s>", "<unk>"];

  test("unigram: pieces with marks for spaces, and no tokens for bytes", () => {
    const bytes = pieces.map((piece) => encoder.encode(piece.replaceAll("▁", " ")));
    check({ bytes, endIds: [15], specialIds: [14, 16] }, 2, 60);
  });

  test("tokens that are no whole characters", () => {
    const bytes = [
      ...Array.from({ length: 256 }, (_, byte) => [byte]),
      [0xe6, 0x97],
      [0xa5, 0xe6],
      [0x22, 0xe6, 0x97],
      [0xa5, 0x22],
      [0xc3, 0xbc, 0x20],
    ];
    check({ bytes: bytes.map((each) => Uint8Array.from(each)), endIds: [], specialIds: [] }, 3, 100);
  });

  test("a vocabulary that lacks what must come next allows nothing, and says so", () => {
    const lacking = vocabulary([encoder.encode("b")]);
    const matcher = compile({ start: sequence(["a"]), rules: {} }, lacking).matcher();
    expect(matcher.mask(new Uint32Array(1))).toBe(false);
    expect(matcher.isDead).toBe(false);
  });
});
