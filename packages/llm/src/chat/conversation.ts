import { isPlain } from "@centella/quant/checks";
import type { ToolCall } from "../tools/tools.ts";
import type { ChatMessage, TextPart } from "./messages.ts";

/** Objects that {@link frozenMessages} created, which need not be copied again. */
const frozen = new WeakSet<object>();

/** A deep copy of checked messages that neither the caller nor a reader can change. */
export function frozenMessages(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return frozenCopy(messages);
}

function frozenCopy<T>(value: T): T {
  if (typeof value !== "object" || value === null || frozen.has(value)) return value;
  let copy: object;
  if (Array.isArray(value)) copy = value.map((element) => frozenCopy<unknown>(element));
  else if (isPlain(value)) copy = Object.fromEntries(Object.entries(value).map(([key, field]) => [key, frozenCopy<unknown>(field)]));
  else return value;
  Object.freeze(copy);
  frozen.add(copy);
  return copy as T;
}

/**
 * Adds messages to a conversation. A user message that follows an unanswered user message is appended to it, because many templates refuse
 * two user messages in a row.
 */
export function withTurn(earlier: readonly ChatMessage[], turn: readonly ChatMessage[]): readonly ChatMessage[] {
  const [last, first] = [earlier.at(-1), turn[0]];
  if (last?.role !== "user" || first?.role !== "user") return [...earlier, ...turn];
  return [...earlier.slice(0, -1), { ...last, ...first, content: joined(last.content, first.content) }, ...turn.slice(1)];
}

function joined(a: ChatMessage["content"], b: ChatMessage["content"]): string | readonly TextPart[] {
  const [p, q] = [a ?? "", b ?? ""];
  if (typeof p === "string" && typeof q === "string") return [p, q].filter((text) => text !== "").join(separator);
  return [...partsOf(p), { type: "text", text: separator }, ...partsOf(q)];
}

const separator = "\n\n";

function partsOf(content: string | readonly TextPart[]): readonly TextPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** An answer, complete or not. */
export interface Answer {
  readonly text: string;
  readonly reasoning?: string | undefined;
  /** Finished calls of tools. */
  readonly toolCalls?: readonly ToolCall[] | undefined;
}

/** An assistant message that a model can continue. */
type OpenAnswer = ChatMessage & { readonly content: string | readonly TextPart[] };

/** Whether a model can continue a conversation's last message: an assistant message with text and without tool calls. */
export function isOpenAnswer(message: ChatMessage | undefined): message is OpenAnswer {
  return message?.role === "assistant" && message.content !== undefined && message.content !== null && !message.tool_calls;
}

/** Adds an answer to a conversation: in place of the open answer that it continues, or as a new message. */
export function withAnswer(messages: readonly ChatMessage[], { text, reasoning, toolCalls }: Answer): readonly ChatMessage[] {
  const thought = {
    // Chat templates read the reasoning from this field.
    ...(reasoning && { reasoning_content: reasoning }),
    ...(toolCalls && {
      tool_calls: toolCalls.map(({ id, name, arguments: args }) => ({ id, type: "function", function: { name, arguments: args } })),
    }),
  };
  const last = messages.at(-1);
  if (!isOpenAnswer(last)) return [...messages, { role: "assistant", content: text, ...thought }];
  return [...messages.slice(0, -1), { ...last, content: text, ...thought }];
}

/** Adds an interrupted answer to a conversation, unless it is empty: many templates refuse empty answers. */
export function withPartialAnswer(messages: readonly ChatMessage[], answer: Answer): readonly ChatMessage[] {
  return answer.text.trim() === "" ? messages : withAnswer(messages, answer);
}
