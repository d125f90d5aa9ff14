import type { TextSpan } from "../generate/textSplitter.ts";
import type { CallParser, CallPiece } from "./callParser.ts";
import type { ToolCall } from "./tools.ts";

/** A piece of a call, without its tokens. */
export interface PlainCallPart {
  readonly type: "toolCall";
  readonly id: string;
  readonly name: string;
  readonly index: number;
  readonly argumentsDelta: string;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** A call that is not finished. */
interface OpenCall {
  readonly id: string;
  readonly name: string;
  arguments: string;
}

/** What recipients of messages of the Harmony format begin with that are tools. */
const recipientOfTools = "functions.";

/** Finds the calls of tools in the parts of an answer, and keeps the finished ones. */
export class CallCollector {
  /** Markup that must be visible in the text. */
  readonly markup: readonly string[];
  readonly finished: ToolCall[] = [];
  readonly #parser: CallParser;
  /** Calls of earlier messages. */
  readonly #earlier: number;
  #open: OpenCall | undefined;
  /** Number of the last call in a message of the Harmony format. */
  #messages = 0;

  constructor(parser: CallParser, { markup, earlier }: { readonly markup: readonly string[]; readonly earlier: number }) {
    this.#parser = parser;
    this.markup = markup;
    this.#earlier = earlier;
  }

  push(spans: readonly TextSpan[]): (TextSpan | PlainCallPart)[] {
    return spans.flatMap((span): (TextSpan | PlainCallPart)[] => {
      if (span.type === "text") {
        const ended = this.#endMessage();
        return [...ended, ...this.#parser.push(span.text).map((piece) => (piece.type === "text" ? piece : this.#part(piece)))];
      }
      const { recipient, isFirst } = span;
      const name =
        span.type === "commentary" && recipient?.startsWith(recipientOfTools) ? recipient.slice(recipientOfTools.length) : undefined;
      const ended = name === undefined || isFirst ? this.#endMessage() : [];
      return [...ended, name === undefined ? span : this.#message(name, span)];
    });
  }

  /** Ends the answer. */
  flush(): (TextSpan | PlainCallPart)[] {
    const rest = this.#parser.flush().map((piece) => (piece.type === "text" ? piece : this.#part(piece)));
    return [...rest, ...this.#endMessage()];
  }

  /** Ends a message of the Harmony format to a tool. One that was cut short is no call. */
  #endMessage(): PlainCallPart[] {
    if (this.#open === undefined || this.#messages === 0) return [];
    const last = { type: "toolCall", index: this.#messages - 1, name: this.#open.name, argumentsDelta: "" } as const;
    if (this.#isWhole()) return [this.#part({ ...last, isFirst: false, isLast: true })];
    this.#open = undefined;
    return [];
  }

  /** A message of the Harmony format to a tool. Its end is the next message, or that of the answer. */
  #message(name: string, { text, isFirst = false }: TextSpan): PlainCallPart {
    if (isFirst) this.#messages++;
    return this.#part({ type: "toolCall", index: this.#messages - 1, name, argumentsDelta: text, isFirst, isLast: false });
  }

  #part({ name, id, argumentsDelta, index, isFirst, isLast }: CallPiece): PlainCallPart {
    if (isFirst || this.#open === undefined)
      this.#open = { id: id ?? `call${String(this.#earlier + index).padStart(5, "0")}`, name, arguments: "" };
    const open = this.#open;
    open.arguments += argumentsDelta;
    if (isLast) this.#finish();
    return { type: "toolCall", id: open.id, name, index, argumentsDelta, isFirst, isLast };
  }

  #isWhole(): boolean {
    try {
      JSON.parse(this.#open?.arguments ?? "");
      return true;
    } catch {
      return false;
    }
  }

  /** Keeps a call whose arguments are JSON. Without a constraint a model may write others. */
  #finish(): void {
    const open = this.#open;
    if (open !== undefined && this.#isWhole()) this.finished.push({ id: open.id, name: open.name, arguments: JSON.parse(open.arguments) });
    this.#open = undefined;
  }
}
