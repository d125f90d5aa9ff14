import { partialTag, type TextSpan, type TextSplitter } from "../generate/textSplitter.ts";

/** What the control markup of the Harmony format is spelt like; all of it has to be seen. */
export const harmonyMarkup = ["<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>"] as const;
/** What ends a message's text. */
const ends = ["<|end|>", "<|call|>", "<|return|>", "<|start|>", "<|channel|>"];
/** What a header begins with, behind a role. */
const beginnings = ["<|channel|>", "<|start|>", "<|constrain|>", "<|message|>", "to="];
const types: Readonly<Record<string, TextSpan["type"]>> = { analysis: "reasoning", commentary: "commentary" };

/**
 * Takes a text in the Harmony format (OpenAI, 2025, "Harmony response format") apart that arrives in pieces. It is a row of messages
 * `<|start|>assistant to=NAME<|channel|>CHANNEL <|constrain|>json<|message|>TEXT<|end|>`: what the channel "analysis" has is reasoning, "commentary"
 * is what is said to or about tools, and the rest is the answer. How the text is cut into pieces makes no difference.
 */
export class HarmonySplitter implements TextSplitter {
  /** Behind `<|start|>`, or not known yet; within a header; in the text of a message. */
  #state: "start" | "header" | "message" = "start";
  #type: TextSpan["type"] = "text";
  #recipient: string | undefined;
  #header = "";
  #held = "";
  /** A message has not begun yet: white space before it is left out. */
  #skipsSpace = true;
  /** The types that have had a message with text. */
  readonly #begun = new Set<TextSpan["type"]>();

  /** @param promptEnd end of the prompt: some templates open the message themselves */
  constructor(promptEnd: string) {
    const at = promptEnd.lastIndexOf("<|start|>");
    const opened = at < 0 ? "" : promptEnd.slice(at);
    if (!opened.includes("<|channel|>")) return;
    this.#state = "header";
    const spans = this.push(opened.slice("<|start|>".length));
    if (spans.length > 0) this.#begun.add(spans[0]!.type);
  }

  push(text: string): TextSpan[] {
    this.#held += text;
    const spans: TextSpan[] = [];
    while (this.#step(spans));
    return spans;
  }

  flush(): TextSpan[] {
    const spans: TextSpan[] = [];
    // Markup without a message behind it says nothing.
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

  /** Begins the text of a message. */
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
    // Messages of one type are paragraphs.
    spans.push({ type, text: isFirst && this.#begun.has(type) ? `\n\n${shown}` : shown });
    this.#begun.add(type);
  }
}
