import { expect, test } from "vitest";
import { separationOf } from "../src/chat/reasoning.ts";
import { argumentFamily } from "../src/tools/arguments/argumentFamilies.ts";
import { CallCollector } from "../src/tools/callCollector.ts";
import { CallParser } from "../src/tools/callParser.ts";
import { namedFormats } from "../src/tools/formats/namedFormats.ts";
import type { CallSyntax } from "../src/tools/formats/toolFormat.ts";

async function collectorOf(syntax: CallSyntax, earlier = 0): Promise<CallCollector> {
  const family = await argumentFamily(syntax.arguments);
  const support = { calls: "object", content: "", rendersContent: true, tools: "tools", results: true } as const;
  const parser = new CallParser({ name: "test", reason: "", ...syntax, template: support }, { family, schemas: new Map() });
  return new CallCollector(parser, { markup: [], earlier });
}

test.each([1, 4, 1000])("messages of the Harmony format to functions are calls, in pieces of %d characters", async (size) => {
  const splitter = (await separationOf("harmony")).createSplitter("");
  const collector = await collectorOf(namedFormats.harmony, 3);
  const text =
    '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"n": 1}';
  const parts = [];
  for (let at = 0; at < text.length; at += size) parts.push(...collector.push(splitter.push(text.slice(at, at + size))));
  parts.push(...collector.push(splitter.flush()), ...collector.flush());
  expect(collector.finished).toEqual([{ id: "call00003", name: "f", arguments: { n: 1 } }]);
  const calls = parts.filter((part) => part.type === "toolCall");
  expect(calls.map(({ argumentsDelta }) => argumentsDelta).join("")).toBe('{"n": 1}');
  expect([calls[0]?.isFirst, calls.at(-1)?.isLast, calls.filter(({ isLast }) => isLast).length]).toEqual([true, true, 1]);
  expect(parts.find(({ type }) => type === "reasoning")).toMatchObject({ text: expect.stringContaining("H") });
});

test.each([1, 5, 1000])("several messages to functions in one turn are as many calls, in pieces of %d characters", async (size) => {
  const splitter = (await separationOf("harmony")).createSplitter("");
  const collector = await collectorOf(namedFormats.harmony);
  const message = (name: string, args: string) =>
    `<|channel|>commentary to=functions.${name} json<|message|>${args}<|end|><|start|>assistant`;
  const text = `${message("f", '{"n": 1}')}${message("f", '{"n": ')}${message("g", "{}")}<|channel|>final<|message|>Done.`;
  const parts = [];
  for (let at = 0; at < text.length; at += size) parts.push(...collector.push(splitter.push(text.slice(at, at + size))));
  parts.push(...collector.push(splitter.flush()), ...collector.flush());
  expect(collector.finished).toEqual([
    { id: "call00000", name: "f", arguments: { n: 1 } },
    { id: "call00002", name: "g", arguments: {} },
  ]);
  const calls = parts.flatMap((part) => (part.type === "toolCall" ? [part] : []));
  expect(calls.filter(({ isFirst }) => isFirst).map(({ index }) => index)).toEqual([0, 1, 2]);
  expect(calls.filter(({ isLast }) => isLast).map(({ index }) => index)).toEqual([0, 2]);
  const last = parts.findLastIndex((part) => part.type === "toolCall");
  expect(parts.findIndex(({ type }) => type === "text")).toBeGreaterThan(last);
});

test("a call that is cut short or whose arguments are no JSON is not finished", async () => {
  for (const text of ['<tool_call>\n{"name": "f", "arguments": {"a": 1', '<tool_call>\n{"name": "f", "arguments": {a}}\n</tool_call>']) {
    const collector = await collectorOf(namedFormats.hermes);
    collector.push([{ type: "text", text }]);
    collector.flush();
    expect(collector.finished).toEqual([]);
  }
});

test.each(["hermes", "granite", "phi-4", "lfm2", "llama-4"] as const)(
  "an answer that is cut short within a second call has no text: %s",
  async (name) => {
    const syntax = namedFormats[name];
    const call = syntax.arguments.kind === "json" ? 'f", "arguments": {"n": 1}' : "f(n=1)";
    const [before, between] = [syntax.before, syntax.between!].map((pieces) => pieces.join("")) as [string, string];
    const turn = before + call + between + call + syntax.after;
    for (let end = before.length + call.length; end <= turn.length; end++) {
      const collector = await collectorOf(syntax);
      const parts = [...collector.push([{ type: "text", text: turn.slice(0, end) }]), ...collector.flush()];
      expect(
        parts.filter(({ type }) => type === "text"),
        turn.slice(0, end),
      ).toEqual([]);
      expect(collector.finished).toHaveLength(end < turn.length - syntax.after.length ? 1 : 2);
    }
  },
);

test.each<[string, CallSyntax, string, string]>([
  [
    "hermes",
    namedFormats.hermes,
    '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n<tool_call>\n{"name": "!"}',
    '<tool_call>\n{"name": "!"}',
  ],
  ["llama-4", namedFormats["llama-4"], "[f(), then rest]", ", then rest]"],
  ["calls in lines", { ...namedFormats["llama-4"], between: ["\n"], after: "" }, "[f()\nthen rest", "then rest"],
])("text that begins like another call and is none stays text: %s", async (_, syntax, text, rest) => {
  for (const size of [1, 3, 1000]) {
    const collector = await collectorOf(syntax);
    const parts = [];
    for (let at = 0; at < text.length; at += size) parts.push(...collector.push([{ type: "text", text: text.slice(at, at + size) }]));
    parts.push(...collector.flush());
    expect(collector.finished).toEqual([{ id: "call00000", name: "f", arguments: {} }]);
    expect(
      parts
        .flatMap((part) => (part.type === "text" ? [part.text] : []))
        .join("")
        .trim(),
    ).toBe(rest);
  }
});

test("ids that the model writes are those of the calls", async () => {
  const { before, call, ...rest } = namedFormats.hermes;
  const collector = await collectorOf({ ...rest, before: ["<tool_call>"], call: [{ slot: "id" }, " ", ...call] });
  collector.push([{ type: "text", text: '<tool_call>abc f", "arguments": {}}</tool_call>' }]);
  expect(before).toHaveLength(1);
  expect(collector.finished).toEqual([{ id: "abc", name: "f", arguments: {} }]);
});
