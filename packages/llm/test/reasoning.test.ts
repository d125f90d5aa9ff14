import { describe, expect, test } from "vitest";
import { findReasoningTags, ReasoningSplitter, type ReasoningTags, type TextSpan } from "../src/reasoning.ts";

const think: ReasoningTags = { open: "<think>", close: "</think>" };
const harmony = findReasoningTags("{{ '<|channel|>' + 'analysis' }}")!;

/** What the pieces of each kind add up to. */
function split(tags: ReasoningTags, promptEnd: string, pieces: readonly string[]): { reasoning: string; text: string; order: string } {
  const splitter = new ReasoningSplitter(tags, promptEnd);
  const spans: TextSpan[] = [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.flush()];
  const of = (type: TextSpan["type"]): string => spans.map((span) => (span.type === type ? span.text : "")).join("");
  expect(spans.every(({ text }) => text !== "")).toBe(true);
  return { reasoning: of("reasoning"), text: of("text"), order: [...new Set(spans.map(({ type }) => type))].join() };
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
    [
      "Harmony",
      harmony,
      "<|start|>assistant",
      "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Two.",
      "Hm.",
      "Two.",
    ],
    ["Harmony without reasoning", harmony, "<|start|>assistant", "<|channel|>final<|message|>Two.", "", "Two."],
  ])("%s, however the text is cut", (_title, tags, promptEnd, text, reasoning, answer) => {
    const expected = { reasoning, text: answer };
    for (const size of [1, 2, 3, 5, 8, 13, text.length]) {
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
      expect(split(tags, promptEnd, pieces), `pieces of ${size}`).toMatchObject(expected);
    }
  });

  test("comes out as early as it is certain", () => {
    const splitter = new ReasoningSplitter(think, "");
    expect(splitter.push("<think>a b")).toEqual([{ type: "reasoning", text: "a b" }]);
    expect(splitter.push(" c </")).toEqual([{ type: "reasoning", text: " c" }]);
    expect(splitter.push("think> d")).toEqual([{ type: "text", text: "d" }]);
    expect(splitter.push(" e")).toEqual([{ type: "text", text: " e" }]);
  });
});

test.each([
  ["{% if x %}</think>{% endif %}", "<think>"],
  ["[THINK]x[/THINK]", "[THINK]"],
  ["<|channel|>final", "<|channel|>analysis<|message|>"],
  ["plain", undefined],
])("tags of template %j", (template, open) => {
  expect(findReasoningTags(template)?.open).toBe(open);
});
