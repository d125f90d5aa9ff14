import { random } from "@centella/conformance";
import { describe, expect, test } from "vitest";
import { argumentFamily } from "../src/tools/arguments/argumentFamilies.ts";
import { CallParser, type CallSpan } from "../src/tools/callParser.ts";
import { namedFormats } from "../src/tools/formats/namedFormats.ts";
import type { CallSyntax, TaggedSyntax } from "../src/tools/formats/toolFormat.ts";
import { slots } from "../src/tools/formats/toolFormat.ts";

const open = { string: ' text="yes">', number: ">", boolean: ">", null: ">", array: ">", object: ">" };
const tagged: TaggedSyntax = { kind: "tagged", first: "<arg ", open, close: "</arg>", next: "<arg ", isPython: true, hasCdata: true };
const base = {
  ...namedFormats.hermes,
  before: ["<call "],
  call: [slots.name, ">", slots.arguments],
  between: ["</call><call "],
  after: "</call>",
  trigger: "<call ",
};

const formats: Readonly<Record<string, CallSyntax>> = {
  ...namedFormats,
  tagged: { ...base, arguments: tagged },
  "named twice": { ...base, arguments: { ...tagged, closeBefore: "</" } },
  gemma: { ...base, arguments: { kind: "notation", assign: ":", comma: ",", end: "}", notation: "gemma" } },
  "an id and a number": { ...base, call: [slots.name, "#", slots.id, "#", slots.index, ">", slots.arguments] },
  "a prompt that opens it": { ...base, opened: "<call " },
  "an answer in a mark": { ...base, answer: "<answer>", prefix: "<p>" },
};

describe.each(Object.entries(formats))("%s", (_, syntax) => {
  const literals = [...syntax.before, ...syntax.call, ...(syntax.between ?? []), syntax.after].filter((piece) => typeof piece === "string");
  const alphabet = [
    ...literals,
    ...(syntax.arguments.kind === "tagged"
      ? [syntax.arguments.first, ...Object.values(syntax.arguments.open), syntax.arguments.close]
      : []),
    ...(syntax.arguments.kind === "notation" ? [syntax.arguments.assign, syntax.arguments.comma, syntax.arguments.end] : []),
    ...[
      "a",
      "f",
      " ",
      "\n",
      '"',
      "'",
      "\\",
      "{",
      "}",
      "[",
      "]",
      ":",
      ",",
      "1",
      "-1e5",
      "true",
      "None",
      "<",
      ">",
      "/",
      '<|"|>',
      "é",
      "😀",
      "\ud83d",
      "<![CDATA[",
      "]]>",
      "<answer>",
      "<p>",
    ],
  ];

  test("random texts are read without an error, and however they are cut", async () => {
    const family = await argumentFamily(syntax.arguments);
    const support = { calls: "object", content: "", rendersContent: true, tools: "tools", results: true } as const;
    const format = { name: "test", reason: "", ...syntax, template: support };
    const parse = (pieces: readonly string[]) => {
      const parser = new CallParser(format, { family, schemas: new Map([["f", { properties: { a: { type: "string" } } }]]) });
      return joined([...pieces.flatMap((piece) => parser.push(piece)), ...parser.flush()]);
    };
    const next = random(11);
    for (let i = 0; i < 400; i++) {
      const pieces = Array.from({ length: Math.floor(next() * 30) }, () => alphabet[Math.floor(next() * alphabet.length)] as string);
      // Half of the texts begin like a call.
      const text =
        (next() < 0.5 ? `${syntax.before.filter((piece) => typeof piece === "string").join("")}f${literals[1] ?? ""}` : "") +
        pieces.join("");
      const whole = parse([text]);
      expect(parse([...text]), text).toEqual(whole);
      for (const { args, isLast } of whole.calls)
        if (isLast && syntax.arguments.kind !== "json") expect(() => JSON.parse(args), text).not.toThrow();
    }
  });

  test("deep and long texts take no time", async () => {
    const family = await argumentFamily(syntax.arguments);
    const begin = syntax.before.filter((piece) => typeof piece === "string").join("");
    for (const part of ["[", '{"a":', "(", "'", '<|"|>', "<arg a>", begin]) {
      const reader = family.createReader(undefined);
      const { delta } = reader.push(part.repeat(20_000));
      expect(typeof delta).toBe("string");
    }
  });
});

/** Text and calls, with the deltas put together. */
function joined(spans: readonly CallSpan[]) {
  const calls: { name: string; id: string | undefined; args: string; isLast: boolean }[] = [];
  let text = "";
  for (const span of spans) {
    if (span.type === "text") text += span.text;
    else {
      if (span.isFirst) calls.push({ name: span.name, id: span.id, args: "", isLast: false });
      const call = calls.at(-1)!;
      call.args += span.argumentsDelta;
      call.isLast = span.isLast;
    }
  }
  return { text, calls };
}
