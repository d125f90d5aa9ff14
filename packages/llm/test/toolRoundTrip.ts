import { type Constraint, compile, vocabulary } from "@centella/grammar";
import { separationOf } from "../src/chat/reasoning.ts";
import { Markup } from "../src/format/markup.ts";
import { type ChatMessage, ChatTemplate, type Tokenizer } from "../src/index.ts";
import { argumentFamily } from "../src/tools/arguments/argumentFamilies.ts";
import { CallParser, type CallSpan } from "../src/tools/callParser.ts";
import { findFormat } from "../src/tools/formats/findFormat.ts";
import { toolVariables } from "../src/tools/formats/probe.ts";
import type { ToolFormat } from "../src/tools/formats/toolFormat.ts";
import { renderedMessages } from "../src/tools/toolMessages.ts";
import { toolUse } from "../src/tools/tools.ts";
import { TurnTools } from "../src/tools/turnTools.ts";

/** A call of a tool. */
export interface Call {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

const property = (type: string, more: object = {}) => ({ type, description: "A property.", ...more });

/** Arguments of {@link tools}. */
export const schema = {
  type: "object",
  properties: {
    city: property("string"),
    days: property("integer"),
    exact: property("boolean"),
    ratio: property("number"),
    tags: property("array", { items: { type: "string" } }),
    place: property("object", { additionalProperties: { type: "string" } }),
  },
};
const toolNames = ["get_weather", "set-alarm"];
const tools = toolNames.map((name) => ({ type: "function", function: { name, description: "Does it.", parameters: schema } }));
const question = "What is the weather?";

/** Calls of one turn, by title. */
export const turns: Readonly<Record<string, readonly Call[]>> = {
  "one call": [{ name: "get_weather", args: { city: "Paris" } }],
  "values of all types": [
    {
      name: "get_weather",
      args: {
        city: 'New York, "NY" \\ é 😀\nTwo',
        days: 3,
        exact: true,
        ratio: -1.5,
        tags: ["a", "b c"],
        place: { x: "", y: "q r" },
      },
    },
  ],
  "texts that look like something else": [{ name: "set-alarm", args: { city: "</tool> {}" } }],
  "two calls": [
    { name: "get_weather", args: { city: "42", days: 1 } },
    { name: "set-alarm", args: { city: "null", exact: false } },
  ],
  "no arguments": [{ name: "set-alarm", args: {} }],
};

/** Values without arrays and objects, for templates that render these in a way of their own. */
export const plainTurns: typeof turns = {
  ...turns,
  "values of all types": [{ name: "get_weather", args: { city: "New York", days: 3, exact: true, ratio: -1.5 } }],
};

/** What a parser finds in a text. */
export interface ParsedTurn {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly args: unknown; readonly isDone: boolean }[];
}

const bytesAsTokens = vocabulary([...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)), new Uint8Array()], {
  endIds: [256],
  specialIds: [],
});
/** A vocabulary without control tokens. */
const plainTokenizer = { encode: () => new Int32Array() } as Partial<Tokenizer> as Tokenizer;

/** Renders turns of a template and reads them back. */
export class RoundTrip {
  readonly format: ToolFormat;
  readonly #template: ChatTemplate;
  #constraint: Constraint | undefined;

  constructor(source: string) {
    this.#template = new ChatTemplate({ source, bosToken: "<BOS>", eosToken: "<EOS>" });
    this.format = findFormat(this.#template);
  }

  /** The text that a model writes for a turn, after the header that the prompt ends with. */
  render(calls: readonly Call[], content = ""): string {
    const { format } = this;
    const user = { role: "user", content: question };
    const message: ChatMessage = {
      role: "assistant",
      content,
      tool_calls: calls.map(({ name, args }, i) => ({ id: `q${i}w2e3r4t`, type: "function", function: { name, arguments: args } })),
    };
    const variables = { datetime: "today", ...toolVariables(format.template.tools ?? "tools", tools) };
    const options = { tools, variables, now: new Date(0) };
    const [turn, prompt] = [
      this.#template.render(renderedMessages([user, message], format), { ...options, addGenerationPrompt: false }),
      this.#template.render([user], options),
    ].map((text) => text.slice(text.lastIndexOf(question) + question.length)) as [string, string];
    let length = 0;
    while (length < prompt.length && prompt[length] === turn[length]) length++;
    // No tag is cut in two.
    const open = turn.lastIndexOf("<", length - 1);
    return turn.slice(open >= 0 && !turn.slice(open, length).includes(">") ? open : length);
  }

  /** Whether the grammar of a turn whose calls are required accepts the beginning of a text up to the end of its calls. */
  async accepts(text: string): Promise<boolean> {
    const { opened = "" } = this.format;
    const tools = toolNames.map((name) => ({ name, inputSchema: schema }));
    const turn = await TurnTools.open(toolUse({ tools, toolChoice: "required" }), this.format);
    this.#constraint ??= compile(turn.grammar(undefined, new Markup(plainTokenizer), undefined).grammar, bytesAsTokens);
    const matcher = this.#constraint.matcher();
    let isAccepted = false;
    for (const byte of new TextEncoder().encode(opened + text)) {
      if (!matcher.acceptBytes(Uint8Array.of(byte))) break;
      isAccepted ||= matcher.isComplete;
    }
    return isAccepted;
  }

  /** Makes a function that parses a turn given in pieces. */
  async parser(text: string): Promise<(pieces: Iterable<string>) => ParsedTurn> {
    const { reasoning } = this.#template;
    const separation = reasoning && (await separationOf(reasoning));
    const tags = typeof reasoning === "object" ? reasoning : undefined;
    const closeAt = tags === undefined ? -1 : text.indexOf(tags.close);
    const isOpen = tags !== undefined && closeAt >= 0 && !text.slice(0, closeAt).includes(tags.open);
    const family = await argumentFamily(this.format.arguments);
    return (pieces) => {
      const splitter = separation?.createSplitter(isOpen && tags !== undefined ? tags.open : "");
      const parser = new CallParser(this.format, { family, schemas: new Map(toolNames.map((name) => [name, schema])) });
      const parsed = new TurnCollector();
      for (const piece of [...pieces, undefined]) {
        const spans = splitter === undefined ? textSpan(piece) : piece === undefined ? splitter.flush() : splitter.push(piece);
        for (const span of spans) {
          if (span.type === "text") parsed.take(parser.push(span.text));
          if (span.type === "commentary") parsed.takeMessage(span);
        }
      }
      parsed.take(parser.flush());
      return parsed.turn();
    };
  }
}

function textSpan(text: string | undefined) {
  return text === undefined ? [] : [{ type: "text" as const, text }];
}

/** Puts the pieces of a turn together. */
class TurnCollector {
  #text = "";
  readonly #calls: { name: string; args: string; isDone: boolean }[] = [];

  take(spans: readonly CallSpan[]): void {
    for (const span of spans) {
      if (span.type === "text") this.#text += span.text;
      else {
        if (span.isFirst) this.#calls.push({ name: span.name, args: "", isDone: false });
        const call = this.#calls[span.index]!;
        call.args += span.argumentsDelta;
        call.isDone = span.isLast;
      }
    }
  }

  /** A message of the Harmony format to a tool. */
  takeMessage({
    text,
    recipient = "",
    isFirst = false,
  }: {
    readonly text: string;
    readonly recipient?: string;
    readonly isFirst?: boolean;
  }): void {
    if (isFirst) this.#calls.push({ name: recipient.replace("functions.", ""), args: "", isDone: true });
    this.#calls.at(-1)!.args += text;
  }

  turn(): ParsedTurn {
    const calls = this.#calls.map(({ name, args, isDone }) => ({ name, args: jsonOf(args), isDone }));
    return { text: this.#text, calls };
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { notJson: text };
  }
}
