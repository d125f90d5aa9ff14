import { ArgumentError } from "@centella/core";
import type { ChatMessage, TextPart } from "./chatMessages.ts";

/** Deeper fields are refused: they are cyclic, or made to exhaust the stack. */
const maxDepth = 64;

/** Objects that {@link frozenMessages} made, which need no further copy. */
const frozen = new WeakSet<object>();

/**
 * A copy of messages that cannot be changed, by their owner or by its reader.
 * @throws {ArgumentError} if their fields are cyclic or deeper than 64 levels
 */
export function frozenMessages(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return frozenCopy(messages, 0);
}

function frozenCopy<T>(value: T, depth: number): T {
  if (typeof value !== "object" || value === null || frozen.has(value)) return value;
  if (depth > maxDepth)
    throw new ArgumentError("messages", `fields of at most ${maxDepth} levels`, "deeper ones", "leave out cyclic objects");
  let copy: object;
  if (Array.isArray(value)) copy = value.map((element) => frozenCopy<unknown>(element, depth + 1));
  else if (isPlain(value))
    copy = Object.fromEntries(Object.entries(value).map(([key, field]) => [key, frozenCopy<unknown>(field, depth + 1)]));
  else return value;
  Object.freeze(copy);
  frozen.add(copy);
  return copy as T;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * A conversation with further messages. Where it ends with a user's message that was never answered, a user's message is added to that one:
 * many templates refuse two in a row.
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
  if (typeof content === "string") return [{ type: "text", text: content }];
  // What is neither is refused when the messages are rendered.
  return Array.isArray(content) ? (content as readonly TextPart[]) : [content as unknown as TextPart];
}

/** An answer as far as it goes. */
export interface Answer {
  readonly text: string;
  readonly reasoning?: string | undefined;
}

/** Whether a conversation's last message is an answer to be continued: one with text, and without calls that wait for their results. */
export function isOpenAnswer(message: ChatMessage | undefined): boolean {
  return message?.role === "assistant" && message.content !== undefined && message.content !== null && !message.tool_calls;
}

/** A conversation with an answer, which continues the last message if that is an open one. */
export function withAnswer(messages: readonly ChatMessage[], { text, reasoning }: Answer): readonly ChatMessage[] {
  // The name that chat templates look for.
  const thought = reasoning && { reasoning_content: reasoning };
  const last = messages.at(-1)!;
  if (!isOpenAnswer(last)) return [...messages, { role: "assistant", content: text, ...thought }];
  const begun = partsOf(last.content!).map((part) => part.text);
  return [...messages.slice(0, -1), { ...last, content: [...begun, text].join(""), ...thought }];
}

/** A conversation with an answer that was cut off. Without an answer the messages stay as they are, since many templates refuse an empty one. */
export function withPartialAnswer(messages: readonly ChatMessage[], answer: Answer): readonly ChatMessage[] {
  return answer.text.trim() === "" ? messages : withAnswer(messages, answer);
}
