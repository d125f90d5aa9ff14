import { partialTag, type TextSpan, type TextSplitter } from "../generate/textSplitter.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";

/** Tags around the reasoning of a model. */
export interface ReasoningTags {
  readonly open: string;
  readonly close: string;
  /** Tags that may surround the answer, whether or not reasoning precedes it. */
  readonly answer?: string;
  readonly answerClose?: string;
}

/** Tags around the reasoning, or messages of the Harmony format in channels. */
export type ReasoningFormat = ReasoningTags | "harmony";

const thinkTags: ReasoningTags = { open: "<think>", close: "</think>" };

/** Formats as they are spelt in chat templates. The first one that a template mentions applies. */
const knownFormats: readonly (readonly [mention: string, format: ReasoningFormat])[] = [
  ["<|channel|>", "harmony"],
  ["<|channel>", { open: "<|channel>thought", close: "<channel|>" }],
  ["</seed:think>", { open: "<seed:think>", close: "</seed:think>" }],
  ["[/THINK]", { open: "[THINK]", close: "[/THINK]" }],
  [
    "<|END_THINKING|>",
    { open: "<|START_THINKING|>", close: "<|END_THINKING|>", answer: "<|START_RESPONSE|>", answerClose: "<|END_RESPONSE|>" },
  ],
  ["<|inner_suffix|>", { open: "<|inner_prefix|>", close: "<|inner_suffix|>" }],
  ["\u25c1/think\u25b7", { open: "\u25c1think\u25b7", close: "\u25c1/think\u25b7" }],
  [
    "'<|open|>'",
    {
      open: "<|open|>think<|sep|>",
      close: "<|close|>think<|sep|>",
      answer: "<|open|>response<|sep|>",
      answerClose: "<|close|>response<|sep|>",
    },
  ],
  ["</thought>", { open: "<thought>", close: "</thought>" }],
];
/** Tags around the answer of models that reason in `<think>`. */
const answerTags = [
  ["<answer>", "</answer>"],
  ["<response>", "</response>"],
] as const;

/** The format that a chat template mentions. */
export function findReasoningFormat(template: string): ReasoningFormat | undefined {
  const found = knownFormats.find(([mention]) => template.includes(mention));
  if (found !== undefined) return found[1];
  if (!template.includes(thinkTags.close)) return undefined;
  const around = answerTags.find(([, close]) => template.includes(close));
  return around === undefined ? thinkTags : { ...thinkTags, answer: around[0], answerClose: around[1] };
}

/** Whether a prompt ends within the reasoning: some templates open it themselves. */
export function opensReasoning({ open }: ReasoningTags, promptEnd: string): boolean {
  return promptEnd.trimEnd().endsWith(open);
}

/** The end of a prompt, long enough to show the longest piece of markup. */
export function promptEndOf(tokenizer: Tokenizer, promptIds: readonly number[], markup: readonly string[]): string {
  const longest = Math.max(...markup.map(({ length }) => length));
  return tokenizer.decode(promptIds.slice(-longest - 8), { skipSpecial: false });
}

/** Separates the reasoning from the answer in texts of one format. */
export interface Separation {
  readonly format: ReasoningFormat;
  /** Markup that must be visible in the text. */
  readonly markup: readonly string[];
  /** @param promptEnd end of the prompt: some templates open the reasoning themselves */
  createSplitter(promptEnd: string): TextSplitter;
}

/** Returns the separation of a format. The code of the Harmony format, which few models use, is loaded on demand. */
export async function separationOf(format: ReasoningFormat): Promise<Separation> {
  if (format === "harmony") {
    const { HarmonySplitter, harmonyMarkup } = await import("./harmony.ts");
    return { format, markup: harmonyMarkup, createSplitter: (promptEnd) => new HarmonySplitter(promptEnd) };
  }
  return {
    format,
    markup: [format.open, format.close, format.answer, format.answerClose].filter((tag) => tag !== undefined),
    createSplitter: (promptEnd) => new ReasoningSplitter(format, promptEnd),
  };
}

/**
 * Separates the reasoning at the beginning of a text from the answer after it. The text arrives in pieces; the result does not depend on
 * how it is cut. Tags are recognised only there, so an answer may mention them. White space around tags belongs to neither part.
 */
export class ReasoningSplitter implements TextSplitter {
  readonly #tags: ReasoningTags;
  #state: "start" | "reasoning" | "closed" | "answer";
  /** Whether the part has no text yet. White space before its text is dropped. */
  #skipsSpace: boolean;
  #held = "";

  /** @param promptEnd end of the prompt: some templates open the reasoning themselves */
  constructor(tags: ReasoningTags, promptEnd: string) {
    this.#tags = tags;
    const isOpen = opensReasoning(tags, promptEnd);
    this.#state = isOpen ? "reasoning" : "start";
    this.#skipsSpace = isOpen;
  }

  push(text: string): TextSpan[] {
    this.#held += text;
    const spans: TextSpan[] = [];
    while (this.#step(spans));
    return spans;
  }

  flush(): TextSpan[] {
    const rest = this.#skipsSpace ? this.#held.trimStart() : this.#held;
    this.#held = "";
    const type = this.#state === "reasoning" ? "reasoning" : "text";
    const span = type === "reasoning" ? rest.trimEnd() : rest;
    return span === "" ? [] : [{ type, text: span }];
  }

  /** Processes the held text. Returns whether to call it again. */
  #step(spans: TextSpan[]): boolean {
    const { open, close, answer, answerClose } = this.#tags;
    switch (this.#state) {
      case "start": {
        const rest = this.#held.trimStart();
        const tags = answer === undefined ? [open] : [open, answer];
        const tag = tags.find((candidate) => rest.startsWith(candidate));
        if (tag === undefined && tags.some((candidate) => candidate.startsWith(rest))) return false;
        this.#state = tag === open ? "reasoning" : "answer";
        this.#skipsSpace = tag !== undefined;
        if (tag !== undefined) this.#held = rest.slice(tag.length);
        return true;
      }
      case "reasoning": {
        const end = this.#held.indexOf(close);
        if (end >= 0) {
          this.#emit(spans, "reasoning", this.#held.slice(0, end).trimEnd());
          this.#held = this.#held.slice(end + close.length);
          this.#state = "closed";
          this.#skipsSpace = true;
          return true;
        }
        // White space before the tag is not part of the reasoning, so it is held back as well.
        const safe = this.#held.slice(0, this.#held.length - partialTag(this.#held, close)).trimEnd();
        this.#emit(spans, "reasoning", safe);
        this.#held = this.#held.slice(safe.length);
        return false;
      }
      case "closed": {
        const rest = this.#held.trimStart();
        if (answer?.startsWith(rest) && rest !== answer) return false;
        if (answer !== undefined && rest.startsWith(answer)) this.#held = rest.slice(answer.length);
        this.#state = "answer";
        return true;
      }
      case "answer": {
        const end = answerClose === undefined ? -1 : this.#held.indexOf(answerClose);
        if (answerClose !== undefined && end >= 0)
          this.#held = this.#held.slice(0, end).trimEnd() + this.#held.slice(end + answerClose.length);
        const kept = answerClose === undefined ? 0 : partialTag(this.#held, answerClose);
        const certain = this.#held.slice(0, this.#held.length - kept);
        // White space before the tag is not part of the answer, so it is held back as well.
        const shown = answerClose === undefined || end >= 0 ? certain : certain.trimEnd();
        this.#emit(spans, "text", shown);
        this.#held = this.#held.slice(shown.length);
        return false;
      }
    }
  }

  #emit(spans: TextSpan[], type: TextSpan["type"], text: string): void {
    const shown = this.#skipsSpace ? text.trimStart() : text;
    if (shown === "") return;
    this.#skipsSpace = false;
    spans.push({ type, text: shown });
  }
}
