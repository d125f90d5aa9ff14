import { describe, expect, test } from "vitest";
import type { ReasoningFormat } from "../src/chat/reasoning.ts";
import { AnswerConstraint } from "../src/format/answerConstraint.ts";
import type { AnswerFormat } from "../src/format/answerFormat.ts";
import { createTokenizer } from "../src/tokenizer/createTokenizer.ts";
import { namedFormats } from "../src/tools/formats/namedFormats.ts";
import type { CallSyntax } from "../src/tools/formats/toolFormat.ts";
import { type ToolOptions, toolUse } from "../src/tools/tools.ts";
import { TurnTools } from "../src/tools/turnTools.ts";
import { fakeMetadata } from "./shared.ts";

const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
const controls = [
  "<s>",
  "</s>",
  "<think>",
  "</think>",
  "<tool_call>",
  "</tool_call>",
  "<|channel|>",
  "<|message|>",
  "<|end|>",
  "<|start|>",
  "<|constrain|>",
  "<|call|>",
  "<|return|>",
];
const tokens = ["<unk>", ...controls, "\u2581", ...bytes];

/** A vocabulary of bytes in which all markup is control tokens. */
const tokenizer = createTokenizer(
  fakeMetadata({
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": tokens,
    "tokenizer.ggml.scores": tokens.map(() => 0),
    "tokenizer.ggml.token_type": [2, ...controls.map(() => 3), 1, ...bytes.map(() => 6)],
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.ggml.add_space_prefix": false,
  }),
);
const think: ReasoningFormat = { open: "<think>", close: "</think>" };

async function constraintOf(
  format: AnswerFormat | undefined,
  reasoning: ReasoningFormat | undefined,
  tools?: ToolOptions,
  syntax: CallSyntax = namedFormats.hermes,
) {
  const support = { calls: "object", content: "", rendersContent: true, tools: "tools", results: true } as const;
  const turn =
    tools &&
    (await TurnTools.open(toolUse(tools), {
      name: syntax === namedFormats.harmony ? "harmony" : "test",
      reason: "",
      ...syntax,
      template: support,
    }));
  return new AnswerConstraint(format, { tokenizer, promptIds: [1], reasoning, begun: undefined, tools: turn, signal: undefined });
}

/** Appends a text, whose tags are control tokens or spelt in bytes. Returns the part that is allowed. */
function feed(constraint: AnswerConstraint, text: string, isSpelt = false): string {
  let done = "";
  for (const id of tokenizer.encode(text, { addSpecial: false, parseSpecial: !isSpelt })) {
    if (!allowed(constraint).has(id)) return done;
    constraint.accept(id);
    done += tokenizer.decode([id], { skipSpecial: false });
  }
  return text;
}

function allowed(constraint: AnswerConstraint): Set<number> {
  const masked = constraint.masked(new Float32Array(tokenizer.vocabSize));
  return new Set([...masked.keys()].filter((id) => masked[id] === 0));
}

const id = (text: string): number => tokenizer.tokenId(text)!;

describe("control tokens", () => {
  test("are allowed where a format has markup, and nowhere within a string", async () => {
    const constraint = await constraintOf({ schema: { type: "string" } }, think);
    expect(feed(constraint, "<think>a <")).toBe("<think>a <");
    expect(allowed(constraint).has(id("</think>"))).toBe(true);
    expect(allowed(constraint).has(id("<think>"))).toBe(false);
    expect(feed(constraint, '</think>\n"x')).toBe('</think>\n"x');
    const inside = allowed(constraint);
    for (const control of controls.filter((name) => tokenizer.isSpecial(id(name)))) expect(inside.has(id(control)), control).toBe(false);
    expect(feed(constraint, '</think>"', true)).toBe('</think>"');
    expect([...allowed(constraint)]).toEqual(tokenizer.endOfGenerationIds);
  });

  test("begin calls, whose arguments have none", async () => {
    const tools = [
      { name: "f", inputSchema: { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false } },
    ];
    const constraint = await constraintOf(undefined, think, { tools });
    expect(feed(constraint, "Well. <tool_call>\n")).toBe("Well. <tool_call>\n");
    expect(feed(constraint, '{"name": "f", "arguments": {"a": "')).toBe('{"name": "f", "arguments": {"a": "');
    for (const control of controls.filter((name) => tokenizer.isSpecial(id(name))))
      expect(allowed(constraint).has(id(control)), control).toBe(false);
    expect(feed(constraint, '</tool_call>"}', true)).toBe('</tool_call>"}');
    expect(feed(constraint, "}\n</tool_call>")).toBe("}\n</tool_call>");
    expect(allowed(constraint).has(id("</s>"))).toBe(true);
    // A text that only spells the trigger would be read as a call.
    expect(feed(await constraintOf(undefined, undefined, { tools }), "<tool_call>", true)).toBe("<tool_call");
  });
});

test("certain tokens are those without an alternative", async () => {
  const constraint = await constraintOf({ regex: "ab\\?c?" }, undefined);
  const ids = (text: string): number[] => [...tokenizer.encode(text, { addSpecial: false })];
  expect(constraint.certain(9)).toEqual(ids("ab?"));
  expect(constraint.certain(2)).toEqual(ids("ab"));
  constraint.accept(ids("a")[0]!);
  expect(constraint.certain(9)).toEqual(ids("b?"));
  for (const each of ids("b?")) constraint.accept(each);
  expect(constraint.certain(9)).toEqual([]);
  constraint.accept(ids("c")[0]!);
  // Only the end is left.
  expect(constraint.certain(9)).toEqual([]);
});

test.each([false, true])("the mask after a token is that of the text with it, also where texts lose a space (%s)", (losesSpace) => {
  const words = createTokenizer(
    fakeMetadata({
      "tokenizer.ggml.model": "llama",
      "tokenizer.ggml.tokens": [...tokens.slice(0, 15), ...bytes, "\u2581a", "a", "b", "ab"],
      "tokenizer.ggml.scores": [...tokens.slice(0, 15), ...bytes, 0, 0, 0, 0].map((_, i) => i),
      "tokenizer.ggml.token_type": [2, ...controls.map(() => 3), 1, ...bytes.map(() => 6), 1, 1, 1, 1],
      "tokenizer.ggml.bos_token_id": 1,
      "tokenizer.ggml.eos_token_id": 2,
      "tokenizer.ggml.add_space_prefix": losesSpace,
    }),
  );
  const open = () =>
    new AnswerConstraint(
      { regex: "a(b|ba)*a?" },
      { tokenizer: words, promptIds: [1], reasoning: undefined, begun: undefined, signal: undefined },
    );
  const [ahead, plain] = [open(), open()];
  const text = [losesSpace ? "\u2581a" : "a", "b", "ab", "b", "a"].map((token) => words.tokenId(token)!);
  for (const next of text) {
    expect([...ahead.mask()]).toEqual([...plain.mask()]);
    const { length } = plain.mask();
    // Tokens that do not come are asked about, too.
    for (const other of [words.tokenId("b")!, next]) ahead.maskAfterNext(other);
    const after = [...(ahead.maskAfterNext(next) ?? new Uint32Array(length))];
    const isForced = ahead.isForcedAfter(next);
    ahead.accept(next);
    plain.accept(next);
    expect([...ahead.mask()]).toEqual(after);
    expect([...plain.mask()]).toEqual(after);
    expect(isForced).toBe(plain.forced().length > 0);
  }
  expect(ahead.maskAfterNext(2)).toBeUndefined();
});

describe("schema, tools and reasoning in one call", () => {
  const tools = [{ name: "f", inputSchema: { type: "object", properties: {}, additionalProperties: false } }];
  const format = { schema: { enum: ["yes", "no"] } };
  test.each([
    ['<think>Hm.</think>\n\n"yes"', true],
    ['"no"', true],
    ["<think>Hm.</think>maybe", false],
    ['<think>Hm.</think><tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>', true],
    ['<tool_call>\n{"name": "g"', false],
    ['<tool_call>\n{"name": "f", "arguments": {"a"', false],
  ])("%s: %s", async (text, isAccepted) => {
    const constraint = await constraintOf(format, think, { tools });
    expect(feed(constraint, text) === text).toBe(isAccepted);
    if (isAccepted) expect(allowed(constraint).has(id("</s>"))).toBe(true);
  });
});

describe("the Harmony format", () => {
  const tools = [
    { name: "f", inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false } },
  ];
  const analysis = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant";
  test.each([
    ["a schema", undefined, `${analysis}<|channel|>final<|message|>true`, true],
    ["a schema, named in the header", undefined, "<|channel|>final <|constrain|>json<|message|>false", true],
    ["another value", undefined, `${analysis}<|channel|>final<|message|>1`, false],
    ["another channel", undefined, `${analysis}<|channel|>commentary<|message|>true`, true],
    ["a call", { tools }, `${analysis}<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"n": 1}`, true],
    ["a call with the recipient first", { tools }, `${analysis} to=functions.f<|channel|>commentary json<|message|>{"n": 1}`, true],
    ["a call of another tool", { tools }, `${analysis} to=functions.g`, false],
    ["other arguments", { tools }, `${analysis} to=functions.f<|channel|>commentary json<|message|>{"n": "1"`, false],
  ] as const)("%s", async (_, toolOptions, text, isAccepted) => {
    const constraint = await constraintOf(
      toolOptions === undefined ? { schema: { type: "boolean" } } : undefined,
      "harmony",
      toolOptions,
      namedFormats.harmony,
    );
    if (isAccepted) expect(feed(constraint, text)).toBe(text);
    else expect(feed(constraint, text)).not.toBe(text);
  });
});
