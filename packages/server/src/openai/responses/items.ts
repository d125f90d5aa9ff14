import type { ToolCallPart } from "@centella/llm";
import type { TokenLogprob } from "../../generation/tokenLogprobs.ts";

/** An event without its number. */
export interface ItemEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

type Kind = "reasoning" | "message" | "function_call";

const prefixes: Readonly<Record<Kind, string>> = { reasoning: "rs", message: "msg", function_call: "fc" };

/** The item that is being written. */
interface OpenItem {
  readonly kind: Kind;
  readonly id: string;
  /** The call, of a call. */
  readonly call: Pick<ToolCallPart, "id" | "name"> | undefined;
  text: string;
  readonly logprobs: TokenLogprob[];
}

/** The items of a response, one after the other, and the events that write them. */
export class ResponseItems {
  /** The finished items. */
  readonly output: object[] = [];
  readonly #isSummarized: boolean;
  #open: OpenItem | undefined;

  /** @param isSummarized whether reasoning is written as its summary, where some clients look for it */
  constructor(isSummarized: boolean) {
    this.#isSummarized = isSummarized;
  }

  /** Adds text or reasoning. */
  *add(kind: "reasoning" | "message", delta: string, logprobs: readonly TokenLogprob[] = []): Generator<ItemEvent, void, undefined> {
    if (this.#open?.kind !== kind) yield* this.#begin(kind, undefined);
    const open = this.#open!;
    open.text += delta;
    open.logprobs.push(...logprobs);
    const { text, index } = this.#namesOf(kind);
    yield { type: `${text}.delta`, ...this.#place(), ...index, delta, ...(kind === "message" && { logprobs }) };
  }

  /** Adds a piece of a call. */
  *addCall({ id, name, argumentsDelta, isFirst, isLast }: ToolCallPart): Generator<ItemEvent, void, undefined> {
    if (isFirst) yield* this.#begin("function_call", { id, name });
    this.#open!.text += argumentsDelta;
    if (argumentsDelta !== "") yield { type: "response.function_call_arguments.delta", ...this.#place(), delta: argumentsDelta };
    if (isLast) yield* this.end("completed");
  }

  /** Ends the open item. */
  *end(status: "completed" | "incomplete"): Generator<ItemEvent, void, undefined> {
    const open = this.#open;
    if (open === undefined) return;
    const { kind, text, logprobs, call } = open;
    const place = this.#place();
    if (kind === "function_call") yield { type: "response.function_call_arguments.done", ...place, name: call!.name, arguments: text };
    else {
      const names = this.#namesOf(kind);
      yield { type: `${names.text}.done`, ...place, ...names.index, text, ...(kind === "message" && { logprobs }) };
      yield { type: `${names.part}.done`, ...place, ...names.index, part: this.#partOf(open) };
    }
    const item = this.#itemOf(open, status);
    yield { type: "response.output_item.done", output_index: this.output.length, item };
    this.output.push(item);
    this.#open = undefined;
  }

  *#begin(kind: Kind, call: OpenItem["call"]): Generator<ItemEvent, void, undefined> {
    yield* this.end("completed");
    const open: OpenItem = { kind, id: idOf(prefixes[kind]), call, text: "", logprobs: [] };
    this.#open = open;
    const empty = this.#itemOf(open, "in_progress");
    const item = kind === "function_call" ? empty : { ...empty, content: [], ...(kind === "reasoning" && { summary: [] }) };
    yield { type: "response.output_item.added", output_index: this.output.length, item };
    if (kind === "function_call") return;
    const { part, index } = this.#namesOf(kind);
    yield { type: `${part}.added`, ...this.#place(), ...index, part: this.#partOf(open) };
  }

  /** Names of the events of a text and of its part, and the part's index. */
  #namesOf(kind: "reasoning" | "message"): { readonly text: string; readonly part: string; readonly index: object } {
    if (kind === "reasoning" && this.#isSummarized)
      return { text: "response.reasoning_summary_text", part: "response.reasoning_summary_part", index: { summary_index: 0 } };
    const text = kind === "message" ? "response.output_text" : "response.reasoning_text";
    return { text, part: "response.content_part", index: { content_index: 0 } };
  }

  #partOf({ kind, text, logprobs }: OpenItem): object {
    if (kind === "reasoning") return { type: this.#isSummarized ? "summary_text" : "reasoning_text", text };
    return { type: "output_text", text, annotations: [], logprobs: [...logprobs] };
  }

  #itemOf(open: OpenItem, status: "in_progress" | "completed" | "incomplete"): object {
    const { kind, id, call, text } = open;
    if (kind === "function_call") return { type: kind, id, call_id: call!.id, name: call!.name, arguments: text, status };
    const parts = [this.#partOf(open)];
    if (kind === "message") return { type: kind, id, status, role: "assistant", content: parts };
    return this.#isSummarized
      ? { type: kind, id, summary: parts, content: [], status }
      : { type: kind, id, summary: [], content: parts, status };
  }

  #place(): object {
    return { item_id: this.#open!.id, output_index: this.output.length };
  }
}

/** A new id. */
export function idOf(prefix: string): string {
  return `${prefix}_${crypto.randomUUID().replaceAll("-", "")}`;
}
