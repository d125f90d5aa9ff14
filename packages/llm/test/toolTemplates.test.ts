import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { describeShared, shared, sharedNames } from "./shared.ts";
import { plainTurns, RoundTrip, turns } from "./toolRoundTrip.ts";

/** Renders the conversation like ChatML, with calls by `body`, given `c` and the turn's `message`. */
const chatml = (calls: string, support = "{% if tools %}{{ tools | tojson }}{% endif %}"): string =>
  `${support}{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content or "" }}` +
  `{% if message.tool_calls %}${calls}{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}`;
const each = (body: string): string => `{% for call in message.tool_calls %}{% set f = call.function %}${body}{% endfor %}`;

/** Templates of our own: one of each kind of format. */
const own: Readonly<Record<string, string>> = {
  "JSON in tags": chatml(each('<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}</call>')),
  "a list in a section": chatml(
    `<calls>[${each('{"tool": "{{ f.name }}", "input": {{ f.arguments | tojson }}}{% if not loop.last %}, {% endif %}')}]</calls>`,
  ),
  "arguments as text": chatml(each('<call>{{ f.name + "=" + f.arguments }}</call>')),
  "an id after the arguments": chatml(
    `[CALLS][${each('{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}, "id": "{{ call.id }}"}{% if not loop.last %}, {% endif %}')}]`,
  ),
  "an id before the arguments": chatml(each("[CALLS]{{ f.name }}[ID]{{ call.id }}[ARGS]{{ f.arguments | tojson }}")),
  "calls with numbers": chatml(`<calls>${each("<call {{ loop.index }} {{ f.name }}>{{ f.arguments | tojson }}</call>")}</calls>`),
  "one bare call a turn": chatml(
    `{% if message.tool_calls | length > 1 %}{{ raise_exception("one call") }}{% endif %}${each('{"name": "{{ f.name }}", "parameters": {{ f.arguments | tojson }}}')}`,
  ),
  "markup around each argument": chatml(
    each(
      `<call>\\n<function={{ f.name }}>\\n{% for k, v in f.arguments | items %}<parameter={{ k }}>\\n{{ v if v is string else v | tojson }}\\n</parameter>\\n{% endfor %}</function>\\n</call>`.replaceAll(
        "\\n",
        "\n",
      ),
    ),
  ),
  "types in the markup": chatml(
    each(
      `<call {{ f.name }}>{% for k, v in f.arguments | items %}<arg {{ k }} text="{{ "yes" if v is string else "no" }}">{{ v if v is string else v | tojson }}</arg>{% endfor %}</call>`,
    ),
  ),
  "keyword arguments of Python": chatml(
    `<calls>[${each("{{ f.name }}({% for k, v in f.arguments | items %}{{ k }}={{ v if v is boolean else v | tojson }}{% if not loop.last %}, {% endif %}{% endfor %}){% if not loop.last %}, {% endif %}")}]</calls>`,
  ),
  "no calls": chatml(""),
  "no tools": chatml("", ""),
};

describe("templates of our own", () => {
  describe.each(Object.entries(own))("%s", (_, source) => roundTrips(source));

  test("say how their format was found", () => {
    expect(new RoundTrip(own["JSON in tags"]!).format).toMatchObject({ name: "detected", template: { calls: "object", tools: "tools" } });
    expect(new RoundTrip(own["arguments as text"]!).format.template.calls).toBe("text");
    expect(new RoundTrip(own["no tools"]!).format).toMatchObject({ name: "hermes", template: { calls: "none", tools: undefined } });
    expect(new RoundTrip(own["one bare call a turn"]!).format).toMatchObject({ isTriggerAtStart: true });
    expect(new RoundTrip(own["one bare call a turn"]!).format).not.toHaveProperty("between");
    expect(new RoundTrip(own["calls with numbers"]!).format.firstIndex).toBe(1);
  });
});

/** Turns that templates write in another way than the grammar: the model writes what the grammar allows, and the parser reads both. */
const writtenOtherwise: Readonly<Record<string, readonly string[] | "all">> = {
  // Lists as Python writes them.
  "ByteDance-Seed-OSS.jinja": ["values of all types"],
  "openbmb-MiniCPM5-1B.jinja": ["values of all types", "texts that look like something else"],
  // Texts in single quotes.
  "LFM2.5-8B-A1B.jinja": "all",
  // Escapes for characters outside ASCII.
  "Reka-Edge.jinja": ["values of all types"],
  // No end of the section after a single call.
  "deepseek-ai-DeepSeek-R1-Distill-Llama-8B.jinja": "all",
  // An empty line for no arguments.
  "deepseek-ai-DeepSeek-V4-Flash-0731.jinja": ["no arguments"],
  "deepseek-ai-DeepSeek-V4.jinja": ["no arguments"],
  "inclusionai-ling-3.0-flash.jinja": ["no arguments"],
  // Arguments in the order of their names.
  "google-gemma-4-31B-it-interleaved.jinja": ["values of all types"],
  "google-gemma-4-31B-it.jinja": ["values of all types"],
};

/** A turn without the header or thought at its beginning. */
function withoutThought(text: string): string {
  return text.replace(/^[\s\S]*?(?:<\/[\w:]*think[\w:]*>|<\|close\|>response<\|sep\|>)\s*/, "").replace(/^<\|CHATBOT_TOKEN\|>\s*/, "");
}

const folder = shared("data", "templates");
/** Templates that render arrays and objects in a way that is not read. */
const withoutNesting = ["MiniMax-M3.jinja"];

describeShared("public templates", () => {
  const files = sharedNames("data", "templates");
  describe.each(files)("%s", (file) => {
    roundTrips(readFileSync(`${folder}/${file}`, "utf8"), withoutNesting.includes(file) ? plainTurns : turns, (title) => {
      const exceptions = writtenOtherwise[file] ?? [];
      return exceptions !== "all" && !exceptions.includes(title);
    });
  });
});

/** Tests that turns are read back as they were, whole and cut at every place. */
function roundTrips(source: string, given = turns, isWritten = (_title: string): boolean => true): void {
  const trip = new RoundTrip(source);
  test.each(Object.entries(given))("%s", async (title, calls) => {
    const { between } = trip.format;
    if (calls.length > 1 && between === undefined) return;
    const expected = calls.map((call) => ({ ...call, isDone: true }));
    const text = trip.render(calls);
    const parse = await trip.parser(text);
    const whole = parse([text]);
    expect(whole.calls, text).toEqual(expected);
    expect(parse(text)).toEqual(whole);
    if (isWritten(title)) expect(await trip.accepts(withoutThought(text)), text).toBe(true);
    for (let at = 1; at < text.length; at++) {
      expect(parse([text.slice(0, at), text.slice(at)])).toEqual(whole);
      // An answer that ends within a further call has no more text than the whole one.
      const { calls: begun, text: content } = parse([text.slice(0, at)]);
      if (begun[0]?.isDone && calls.length > 1) expect(whole.text.startsWith(content), `${text.slice(0, at)}: ${content}`).toBe(true);
    }
  });

  test.skipIf(trip.format.isTriggerAtStart)("content before a call", async () => {
    const [call] = given["one call"]!;
    const text = trip.render([call!], "Let me look.");
    const { calls, text: content } = (await trip.parser(text))([text]);
    expect(calls).toEqual([{ ...call, isDone: true }]);
    if (text.includes("Let me look.")) expect(content.trim()).toMatch(/Let me look\./);
  });
}
