import { partialTag } from "../generate/textSplitter.ts";
import type { ArgumentFamily } from "./arguments/argumentFamily.ts";
import type { ArgumentReader, ArgumentSchema, ReadArguments } from "./arguments/argumentReader.ts";
import { matchLiteral } from "./arguments/literalMatch.ts";
import type { Pieces, Slot, ToolFormat } from "./formats/toolFormat.ts";

/** A piece of text, or of a call. */
export type CallSpan = { readonly type: "text"; readonly text: string } | CallPiece;

/** A piece of a call. The pieces of one call follow one another. */
export interface CallPiece {
  readonly type: "toolCall";
  /** Number of the call in its turn, from 0. */
  readonly index: number;
  readonly name: string;
  /** The id that the model wrote before the arguments, if the format has one. */
  readonly id?: string;
  /** Text to append to the arguments, which are JSON as a whole. */
  readonly argumentsDelta: string;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** What a {@link CallParser} needs besides the format. */
export interface CallParserContext {
  readonly family: Pick<ArgumentFamily, "createReader">;
  /** Schemas of the tools by their names. */
  readonly schemas: ReadonlyMap<string, ArgumentSchema>;
}

const slotTexts: Readonly<Record<"name" | "id" | "index", RegExp>> = { name: /^[\w.-]*/, id: /^[\w.:-]*/, index: /^\d*/ };

/**
 * Finds the calls of tools in an answer that arrives in pieces. The result does not depend on how it is cut. What begins like a call and is
 * none is text. White space next to calls belongs to neither.
 */
export class CallParser {
  readonly #format: ToolFormat;
  readonly #context: CallParserContext;
  #state: "start" | "text" | "call" | "arguments" | "end" | "after" | "gap" = "start";
  #held = "";
  /** What the call goes on with, from the next piece. */
  #pieces: (string | Slot)[] = [];
  /** Text since the beginning of a call, until its arguments begin. Undefined if there is none. */
  #attempt: string | undefined;
  #reader: ArgumentReader | undefined;
  #count = 0;
  #name = "";
  #id: string | undefined;
  #isFirst = true;

  constructor(format: ToolFormat, context: CallParserContext) {
    this.#format = format;
    this.#context = context;
    this.#held = format.opened ?? "";
  }

  push(text: string): CallSpan[] {
    this.#held += text;
    const spans: CallSpan[] = [];
    while (this.#step(spans));
    return spans;
  }

  /**
   * Ends the text. A call that was cut short is left out after its last piece. Before its arguments, the first call of an answer is text:
   * a text may begin like one. A further call is left out.
   */
  flush(): CallSpan[] {
    const spans: CallSpan[] = [];
    if (this.#attempt !== undefined && this.#count === 0) {
      this.#held = this.#attempt + this.#held;
      this.#state = "text";
    }
    if (this.#state === "start" || this.#state === "text") {
      if (this.#held !== "" && this.#held !== this.#format.opened) spans.push({ type: "text", text: this.#held });
    } else if (this.#state === "arguments" && this.#reader !== undefined) this.#take(this.#reader.flush(), spans);
    this.#held = "";
    return spans;
  }

  /** Processes the held text. Returns whether to call it again. */
  #step(spans: CallSpan[]): boolean {
    switch (this.#state) {
      case "start":
        return this.#start();
      case "text":
        return this.#text(spans);
      case "call":
        return this.#piece(spans);
      case "arguments":
        return this.#arguments(spans);
      case "end":
        return this.#end();
      case "after":
        return this.#after();
      case "gap":
        this.#held = this.#held.trimStart();
        if (this.#held !== "") this.#state = "text";
        return this.#held !== "";
    }
  }

  /** The beginning of the answer, where marks may be that count only there. */
  #start(): boolean {
    const { prefix, answer, trigger, isTriggerAtStart } = this.#format;
    const rest = this.#held.trimStart();
    if (rest === "") return false;
    const marks = [prefix, answer, isTriggerAtStart ? trigger : undefined].filter((mark) => mark !== undefined);
    const found = marks.find((mark) => rest.startsWith(mark));
    if (found === undefined && marks.some((mark) => mark.startsWith(rest))) return false;
    if (found !== undefined && found === prefix) this.#held = rest.slice(prefix.length);
    else if (found !== undefined && found === answer) {
      this.#held = rest.slice(answer.length);
      this.#state = "gap";
    } else if (isTriggerAtStart && found === trigger) this.#begin("");
    else this.#state = "text";
    return true;
  }

  #text(spans: CallSpan[]): boolean {
    const { trigger, isTriggerAtStart } = this.#format;
    const at = isTriggerAtStart ? -1 : this.#held.indexOf(trigger);
    if (at >= 0) {
      const before = this.#held.slice(0, at);
      if (before.trim() !== "") spans.push({ type: "text", text: before.trimEnd() });
      this.#held = this.#held.slice(at);
      this.#begin(before);
      return true;
    }
    // White space before a call belongs to neither, so it is held back as well.
    const certain = isTriggerAtStart ? this.#held : this.#held.slice(0, this.#held.length - partialTag(this.#held, trigger)).trimEnd();
    if (certain !== "") spans.push({ type: "text", text: certain });
    this.#held = this.#held.slice(certain.length);
    return false;
  }

  /** Begins a turn's first call. */
  #begin(spaceBefore: string): void {
    this.#attempt = spaceBefore.slice(spaceBefore.trimEnd().length);
    this.#open(this.#format.before);
  }

  #open(before: Pieces): void {
    this.#pieces = [...before, ...this.#format.call];
    this.#name = "";
    this.#id = undefined;
    this.#isFirst = true;
    this.#state = "call";
  }

  #piece(spans: CallSpan[]): boolean {
    const [piece] = this.#pieces;
    if (piece === undefined) {
      this.#state = "end";
      return true;
    }
    if (typeof piece === "string") return this.#literal(piece, spans);
    if (piece.slot === "arguments") {
      this.#reader = this.#context.family.createReader(this.#context.schemas.get(this.#name));
      this.#state = "arguments";
      this.#attempt = undefined;
      this.#emit(spans, "", false);
      this.#pieces.shift();
      return true;
    }
    const text = this.#held.trimStart();
    const value = slotTexts[piece.slot].exec(text)?.[0] ?? "";
    if (value.length === text.length) return false;
    if (value === "") return this.#fail(spans);
    if (piece.slot === "name") this.#name = value;
    if (piece.slot === "id") this.#id = value;
    this.#consume(this.#held.length - text.length + value.length);
    return true;
  }

  #literal(literal: string, spans: CallSpan[]): boolean {
    const found = matchLiteral(this.#held, literal);
    if (found.kind === "partial") return false;
    if (found.kind === "none") return this.#fail(spans);
    this.#consume(found.length);
    return true;
  }

  /** Removes text that the next piece has matched. */
  #consume(length: number): void {
    if (this.#isFirst) this.#attempt = (this.#attempt ?? "") + this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    this.#pieces.shift();
  }

  /** Ends what looked like a call. Before its arguments it was text. */
  #fail(spans: CallSpan[]): boolean {
    if (this.#attempt !== undefined) {
      const attempt = this.#attempt + this.#held.slice(0, 1);
      if (attempt !== "") spans.push({ type: "text", text: attempt });
      this.#held = this.#held.slice(1);
    }
    this.#attempt = undefined;
    this.#state = "text";
    return true;
  }

  #arguments(spans: CallSpan[]): boolean {
    if (this.#held === "") return false;
    const text = this.#held;
    this.#held = "";
    return this.#take((this.#reader as ArgumentReader).push(text), spans);
  }

  #take({ delta, rest, isBroken = false }: ReadArguments, spans: CallSpan[]): boolean {
    if (isBroken) {
      this.#held = rest ?? "";
      this.#state = "text";
      return true;
    }
    if (delta !== "" || rest !== undefined) this.#emit(spans, delta, rest !== undefined);
    if (rest === undefined) return false;
    this.#held = rest;
    this.#count++;
    this.#state = "call";
    return true;
  }

  #emit(spans: CallSpan[], argumentsDelta: string, isLast: boolean): void {
    const id = this.#id === undefined ? {} : { id: this.#id };
    spans.push({ type: "toolCall", index: this.#count, name: this.#name, ...id, argumentsDelta, isFirst: this.#isFirst, isLast });
    this.#isFirst = false;
  }

  /** After a call: another one, or the end of the calls. */
  #end(): boolean {
    const { between } = this.#format;
    const [first, ...rest] = between ?? [];
    const found = typeof first === "string" ? matchLiteral(this.#held, first) : { kind: "none" as const, length: 0 };
    if (found.kind === "partial") return false;
    if (found.kind === "match" && first !== "") {
      const between = this.#held.slice(0, found.length);
      // What precedes the trigger ends the call before.
      if (between !== "") this.#attempt = between.slice(Math.max(0, between.indexOf(this.#format.trigger))).trimStart();
      this.#held = this.#held.slice(found.length);
      this.#open(rest);
    } else this.#state = "after";
    return true;
  }

  #after(): boolean {
    const found = matchLiteral(this.#held, this.#format.after);
    if (found.kind === "partial") return false;
    if (found.kind === "match") this.#held = this.#held.slice(found.length);
    this.#state = "gap";
    return true;
  }
}
