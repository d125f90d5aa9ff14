import { describe, expect, test } from "vitest";
import {
  findReasoningFormat,
  type ReasoningFormat,
  ReasoningSplitter,
  type ReasoningTags,
  type Separation,
  separationOf,
} from "../src/chat/reasoning.ts";
import type { TextSpan } from "../src/generate/textSplitter.ts";

const think: ReasoningTags = { open: "<think>", close: "</think>" };
const framed: ReasoningTags = { ...think, answer: "<answer>", answerClose: "</answer>" };

/** What the pieces of each kind add up to. */
function split({ createSplitter }: Separation, promptEnd: string, pieces: readonly string[]): Record<string, string> {
  const splitter = createSplitter(promptEnd);
  const spans: TextSpan[] = [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.flush()];
  const of = (type: TextSpan["type"]): string =>
    spans.map((span) => (span.type === type ? `${span.isFirst ? `[${span.recipient ?? ""}]` : ""}${span.text}` : "")).join("");
  expect(spans.every(({ text }) => text !== "")).toBe(true);
  return { reasoning: of("reasoning"), commentary: of("commentary"), text: of("text") };
}

async function expectHoweverCut(format: ReasoningFormat, promptEnd: string, text: string, expected: Record<string, string>): Promise<void> {
  const separation = await separationOf(format);
  for (const size of [1, 2, 3, 5, 8, 13, Math.max(1, text.length)]) {
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
    expect(split(separation, promptEnd, pieces), `pieces of ${size}`).toEqual({ reasoning: "", commentary: "", text: "", ...expected });
  }
}

describe("ReasoningSplitter", () => {
  test.each([
    [
      "a block before the answer",
      think,
      "",
      "<think>\nHm. 1 < 2, \n so </thin no.\n</think>\n\nTwo.",
      "Hm. 1 < 2, \n so </thin no.",
      "Two.",
    ],
    ["opened by the template", think, "<|im_start|>assistant\n<think>\n", "Hm.</think>Two. ", "Hm.", "Two. "],
    ["empty", think, "", "<think>\n\n</think>\n\nTwo.", "", "Two."],
    ["none", think, "", " Two <think>no</think>", "", " Two <think>no</think>"],
    ["tags in the answer", think, "", "<think>a</think>b <think>c</think>", "a", "b <think>c</think>"],
    ["never closed", think, "", "<think> a b </thi", "a b </thi", ""],
    ["what only begins like a tag", think, "", "<thin air>", "", "<thin air>"],
    ["an answer in tags", framed, "", "<think>a</think>\n<answer>\nTwo. \n</answer>\n", "a", "Two.\n"],
    ["an answer in tags without reasoning", framed, "", "<answer>Two</answer>", "", "Two"],
    ["tags of the answer left out", framed, "", "<think>a</think> Two, </answ", "a", "Two, </answ"],
  ])("%s, however the text is cut", async (_title, tags, promptEnd, text, reasoning, answer) => {
    await expectHoweverCut(tags, promptEnd, text, { reasoning, text: answer });
  });

  test("is yielded as early as possible", () => {
    const splitter = new ReasoningSplitter(think, "");
    expect(splitter.push("<think>a b")).toEqual([{ type: "reasoning", text: "a b" }]);
    expect(splitter.push(" c </")).toEqual([{ type: "reasoning", text: " c" }]);
    expect(splitter.push("think> d")).toEqual([{ type: "text", text: "d" }]);
    expect(splitter.push(" e")).toEqual([{ type: "text", text: " e" }]);
  });
});

describe("HarmonySplitter", () => {
  const start = "<|start|>assistant";
  const analysis = "<|channel|>analysis<|message|>";
  const final = "<|channel|>final<|message|>";
  test.each([
    ["analysis, then the answer", start, `${analysis}Hm.<|end|>${start}${final} Two. `, { reasoning: "Hm.", text: "Two. " }],
    ["no analysis", start, `${final}Two.<|return|>`, { text: "Two." }],
    [
      "a preamble and a call",
      start,
      `${analysis}Look it up.<|end|>${start}<|channel|>commentary<|message|>I will look.<|end|>${start}<|channel|>commentary to=functions.find <|constrain|>json<|message|>{"q": "<|x"}<|call|>`,
      { reasoning: "Look it up.", commentary: '[]I will look.[functions.find]{"q": "<|x"}' },
    ],
    [
      "the recipient before the channel, and two calls",
      start,
      ` to=functions.f<|channel|>commentary json<|message|>{}<|end|>${start} to=functions.f<|channel|>commentary<|message|>{"a":1}`,
      { commentary: '[functions.f]{}[functions.f]{"a":1}' },
    ],
    [
      "a tool of the model's own, in analysis",
      start,
      `${analysis.replace("<|mes", " to=python code<|mes")}1+1<|end|>`,
      { reasoning: "1+1" },
    ],
    [
      "two thoughts",
      start,
      `${analysis}One\n<|end|>${start}${analysis}Two<|end|>${start}${final}3`,
      { reasoning: "One\n\nTwo", text: "3" },
    ],
    ["a message that is not ended", start, `${analysis}a ${start}${final}b`, { reasoning: "a", text: "b" }],
    ["opened by the template", `${start}${final}`, "Two.", { text: "Two." }],
    ["begun by the template", `${start}${analysis}Hm`, "m.<|end|>", { reasoning: "m." }],
    ["a text without markup", "", " Plain <b>. ", { text: "Plain <b>. " }],
    ["nothing but half a header", start, "<|channel|>analysis<|mess", {}],
    ["half of what could be markup at the end", start, `${final}a <|en`, { text: "a <|en" }],
  ])("%s, however the text is cut", async (_title, promptEnd, text, expected) => {
    await expectHoweverCut("harmony", promptEnd, text, expected);
  });

  test("is yielded as early as possible", async () => {
    const splitter = (await separationOf("harmony")).createSplitter(start);
    expect(splitter.push("<|channel|>commentary to=f<|message|>{a ")).toEqual([
      { type: "commentary", text: "{a", recipient: "f", isFirst: true },
    ]);
    expect(splitter.push("b}<|")).toEqual([{ type: "commentary", text: " b}", recipient: "f", isFirst: false }]);
    expect(splitter.push("call|>")).toEqual([]);
  });
});

test.each([
  ["{% if x %}</think>{% endif %}", think],
  ["<think></think><answer></answer>", framed],
  ["<think></think><response></response>", { ...think, answer: "<response>", answerClose: "</response>" }],
  ["[THINK]x[/THINK]", { open: "[THINK]", close: "[/THINK]" }],
  ["<|channel>thought", { open: "<|channel>thought", close: "<channel|>" }],
  ["<|channel|>final", "harmony"],
  ["plain", undefined],
])("format of template %j", (template, format) => {
  expect(findReasoningFormat(template)).toEqual(format);
});
