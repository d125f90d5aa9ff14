import { partialTag, type TextSpan, type TextSplitter } from "../generate/textSplitter.ts";

/** Markup of the Harmony format. The splitter must see all of it. */
export const harmonyMarkup = ["<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>"] as const;
/** Markup that ends a message's text. */
const ends = ["<|end|>", "<|call|>", "<|return|>", "<|start|>", "<|channel|>"];
/** Beginnings of a header, after the role. */
const beginnings = ["<|channel|>", "<|start|>", "<|constrain|>", "<|message|>", "to="];
const types: Readonly<Record<string, TextSpan["type"]>> = { analysis: "reasoning", commentary: "commentary" };

/**
 * Splits a text in the Harmony format (OpenAI, 2025, "Harmony response format") that arrives in pieces. The text is a sequence of messages
 * `<|start|>assistant to=NAME<|channel|>CHANNEL <|constrain|>json<|message|>TEXT<|end|>`. Messages in the channel "analysis" are reasoning,
 * those in "commentary" are messages to or about tools, and the remaining ones are the answer. The result does not depend on how the text is
 * cut into pieces.
 */
export class HarmonySplitter implements TextSplitter {
  /** Position: before a header, within a header, or in the text of a message. */
  #state: "start" | "header" | "message" = "start";
  #type: TextSpan["type"] = "text";
  #recipient: string | undefined;
  #header = "";
  #held = "";
  /** Whether the message has no text yet. White space before its text is dropped. */
  #skipsSpace = true;
  /** Types of the messages with text so far. */
  readonly #begun = new Set<TextSpan["type"]>();

  /** @param promptEnd end of the prompt: some templates open the message themselves */
  constructor(promptEnd: string) {
    const at = promptEnd.lastIndexOf("<|start|>");
    const opened = at < 0 ? "" : promptEnd.slice(at);
    if (!opened.includes("<|channel|>")) return;
    this.#state = "header";
    const [first] = this.push(opened.slice("<|start|>".length));
    if (first !== undefined) this.#begun.add(first.type);
  }

  push(text: string): TextSpan[] {
    this.#held += text;
    const spans: TextSpan[] = [];
    while (this.#step(spans));
    return spans;
  }

  flush(): TextSpan[] {
    const spans: TextSpan[] = [];
    // Markup that no message follows is dropped.
    const isText = this.#state === "message" || (this.#state === "start" && !beginnings.some((tag) => tag.startsWith(this.#held.trim())));
    if (isText) this.#emit(spans, this.#type === "text" ? this.#held : this.#held.trimEnd());
    this.#held = "";
    return spans;
  }

  #step(spans: TextSpan[]): boolean {
    switch (this.#state) {
      case "start": {
        const rest = this.#held.trimStart();
        if (beginnings.some((tag) => rest.startsWith(tag))) {
          this.#state = "header";
          this.#header = "";
          return true;
        }
        if (beginnings.some((tag) => tag.startsWith(rest))) return false;
        // A text without markup is the answer.
        this.#open("");
        return true;
      }
      case "header": {
        const end = this.#held.indexOf("<|message|>");
        if (end < 0) return false;
        this.#header = this.#held.slice(0, end);
        this.#held = this.#held.slice(end + "<|message|>".length);
        this.#open(this.#header);
        return true;
      }
      case "message": {
        const found = ends.map((tag) => ({ tag, at: this.#held.indexOf(tag) })).filter(({ at }) => at >= 0);
        if (found.length > 0) {
          const { tag, at } = found.reduce((first, other) => (other.at < first.at ? other : first));
          const text = this.#held.slice(0, at);
          this.#emit(spans, this.#type === "text" ? text : text.trimEnd());
          this.#held = this.#held.slice(tag === "<|start|>" || tag === "<|channel|>" ? at : at + tag.length);
          this.#state = "start";
          return true;
        }
        const length = this.#held.length - Math.max(...ends.map((tag) => partialTag(this.#held, tag)));
        const certain = this.#type === "text" ? this.#held.slice(0, length) : this.#held.slice(0, length).trimEnd();
        this.#emit(spans, certain);
        this.#held = this.#held.slice(certain.length);
        return false;
      }
    }
  }

  /** Begins the text of the message with this header. */
  #open(header: string): void {
    const channel = /<\|channel\|>\s*(\w+)/.exec(header)?.[1];
    this.#recipient = /(?:^|\s|>)to=([^\s<]+)/.exec(header)?.[1];
    this.#type = types[channel ?? ""] ?? (this.#recipient === undefined ? "text" : "commentary");
    this.#state = "message";
    this.#skipsSpace = true;
  }

  #emit(spans: TextSpan[], text: string): void {
    const shown = this.#skipsSpace ? text.trimStart() : text;
    if (shown === "") return;
    const [type, isFirst] = [this.#type, this.#skipsSpace];
    this.#skipsSpace = false;
    if (type === "commentary") {
      spans.push({ type, text: shown, isFirst, ...(this.#recipient !== undefined && { recipient: this.#recipient }) });
      return;
    }
    // Messages of the same type become paragraphs.
    spans.push({ type, text: isFirst && this.#begun.has(type) ? `\n\n${shown}` : shown });
    this.#begun.add(type);
  }
}
