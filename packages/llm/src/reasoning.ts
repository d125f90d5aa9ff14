/** How a model marks what it thinks before it answers. */
export interface ReasoningTags {
  readonly open: string;
  readonly close: string;
  /** What stands before an answer without reasoning. */
  readonly answer?: string;
}

/** As the chat templates of the model families spell them. */
const knownTags: readonly ReasoningTags[] = [
  { open: "<think>", close: "</think>" },
  { open: "<seed:think>", close: "</seed:think>" },
  { open: "[THINK]", close: "[/THINK]" },
  { open: "<|START_THINKING|>", close: "<|END_THINKING|>" },
  {
    open: "<|channel|>analysis<|message|>",
    close: "<|end|><|start|>assistant<|channel|>final<|message|>",
    answer: "<|channel|>final<|message|>",
  },
];

/** Markup of the Harmony format, whose template puts it together from parts. */
const harmonyMarkup = "<|channel|>";

/** The tags that a chat template mentions. */
export function findReasoningTags(template: string): ReasoningTags | undefined {
  return knownTags.find(({ close, answer }) => template.includes(answer === undefined ? close : harmonyMarkup));
}

/** A piece of one kind of text. */
export interface TextSpan {
  readonly type: "text" | "reasoning";
  readonly text: string;
}

/**
 * Tells the reasoning at the beginning of a text that arrives in pieces from the answer after it. Tags count only there, so an answer
 * may mention them; white space around them belongs to neither part. How the text is cut into pieces makes no difference.
 */
export class ReasoningSplitter {
  readonly #tags: ReasoningTags;
  #state: "start" | "reasoning" | "answer";
  /** A part has not begun yet: white space before it is left out. */
  #skipsSpace: boolean;
  #held = "";

  /** @param promptEnd end of the prompt: some templates open the reasoning themselves */
  constructor(tags: ReasoningTags, promptEnd: string) {
    this.#tags = tags;
    const isOpen = promptEnd.trimEnd().endsWith(tags.open);
    this.#state = isOpen ? "reasoning" : "start";
    this.#skipsSpace = isOpen;
  }

  push(text: string): TextSpan[] {
    this.#held += text;
    const spans: TextSpan[] = [];
    while (this.#step(spans));
    return spans;
  }

  /** Ends the text: what could have become a tag is none. */
  flush(): TextSpan[] {
    const rest = this.#skipsSpace ? this.#held.trimStart() : this.#held;
    this.#held = "";
    const type = this.#state === "reasoning" ? "reasoning" : "text";
    const span = type === "reasoning" ? rest.trimEnd() : rest;
    return span === "" ? [] : [{ type, text: span }];
  }

  /** Whether there may be more to do. */
  #step(spans: TextSpan[]): boolean {
    const { open, close, answer } = this.#tags;
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
          this.#state = "answer";
          this.#skipsSpace = true;
          return true;
        }
        // White space before the tag is not part of the reasoning, so it waits as well.
        const safe = this.#held.slice(0, this.#held.length - partialTag(this.#held, close)).trimEnd();
        this.#emit(spans, "reasoning", safe);
        this.#held = this.#held.slice(safe.length);
        return false;
      }
      case "answer":
        this.#emit(spans, "text", this.#held);
        this.#held = "";
        return false;
    }
  }

  #emit(spans: TextSpan[], type: TextSpan["type"], text: string): void {
    const shown = this.#skipsSpace ? text.trimStart() : text;
    if (shown === "") return;
    this.#skipsSpace = false;
    spans.push({ type, text: shown });
  }
}

/** Length of the longest end of `text` that begins `tag`. */
function partialTag(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--) {
    if (tag.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
