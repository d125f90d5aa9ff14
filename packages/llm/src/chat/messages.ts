import { ArgumentError } from "@centella/core";
import { describe, isRecord, plainData } from "@centella/quant/checks";
import { ChatTemplateError } from "../errors.ts";

/** A part of a message whose content is a list. Only text is supported. */
export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

/** One turn of a conversation: plain data. The template also gets all further fields (`tool_calls`, `name`, `reasoning_content`, …). */
export interface ChatMessage {
  /**
   * Letters, digits, `_`, `.`, `-` and spaces. Common roles: system, user, assistant, tool. Some templates write special tokens from roles,
   * so never take a role from user input.
   */
  readonly role: string;
  /** Required, except in an assistant's message with `tool_calls`. */
  readonly content?: string | readonly TextPart[] | null;
  readonly [field: string]: unknown;
}

/** A message whose content is a single string. */
export interface PlainMessage {
  readonly role: string;
  readonly content?: string | null;
  readonly [field: string]: unknown;
}

/** Roles of messages with instructions for the model. */
const instructionRoles: readonly string[] = ["system", "developer"];
const rolePattern = /^[\w. -]+$/;

/**
 * Returns `messages`.
 * @throws {ArgumentError} unless they are a list of well-formed messages; the list may be empty
 */
export function checkMessages(where: string, messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (!Array.isArray(messages)) throw new ArgumentError(where, "messages to be a list of messages { role, content }", describe(messages));
  for (const [index, message] of messages.entries()) checkMessage(`${where}: message ${index}`, message);
  return messages;
}

function checkMessage(where: string, message: ChatMessage): void {
  if (!isRecord(message) || !plainData.accepts(message))
    throw new ArgumentError(where, "an object { role, content } of plain data without cycles", describe(message));
  const { role, content, tool_calls: calls } = message;
  if (typeof role !== "string" || !rolePattern.test(role))
    throw new ArgumentError(where, 'a role of letters, digits, "_", ".", "-" and spaces', describe(role));
  if (typeof content === "string") return;
  if (content === undefined || content === null) {
    if (role === "assistant" && Array.isArray(calls) && calls.length > 0) return;
    throw new ArgumentError(
      where,
      "content",
      String(content),
      'pass "" for an empty message; only an assistant message with tool_calls has none',
    );
  }
  if (!Array.isArray(content)) throw new ArgumentError(where, "content to be text or a list of parts", describe(content));
  const wrong = content.findIndex((part) => !isTextPart(part));
  if (wrong >= 0)
    throw new ArgumentError(where, 'parts { type: "text", text }', describe(content[wrong]), "leave other kinds of content out");
}

function isTextPart(part: unknown): boolean {
  return isRecord(part) && part.type === "text" && typeof part.text === "string";
}

/** Checked messages whose parts are joined: not every template understands lists of parts. */
export function plainMessages(messages: readonly ChatMessage[]): readonly PlainMessage[] {
  return messages.map(({ content, ...rest }) => ({
    ...rest,
    ...(content !== undefined && { content: content === null ? null : textOf(content) }),
  }));
}

/** Content as a single string. */
export function textOf(content: string | readonly TextPart[]): string {
  return typeof content === "string" ? content : content.map(({ text }) => text).join("");
}

/** Messages that a template renders. */
export interface MergedMessages {
  readonly messages: readonly PlainMessage[];
  /** One sentence for each kind of message that was merged. */
  readonly warnings: readonly string[];
}

/** Where a message with instructions is: first, after another one at the beginning, or after other messages. */
export type Place = "first" | "second" | "later";

/**
 * Merges system and developer messages into the next user message where the template does not render them.
 * @throws {ChatTemplateError} if no user message follows
 */
export function mergeInstructions(messages: readonly PlainMessage[], isRendered: (role: string, place: Place) => boolean): MergedMessages {
  const leading = messages.findIndex(({ role }) => !instructionRoles.includes(role));
  const missing = new Map<PlainMessage, string>();
  for (const [index, message] of messages.entries()) {
    const { role } = message;
    const place = index === 0 ? "first" : leading < 0 || index < leading ? "second" : "later";
    if (!instructionRoles.includes(role)) continue;
    if (!isRendered(role, "first")) missing.set(message, `has no ${role} role`);
    else if (!isRendered(role, place)) missing.set(message, `renders a ${role} message only as the first message`);
  }
  if (missing.size === 0) return { messages, warnings: [] };
  const merged: PlainMessage[] = [];
  let waiting: PlainMessage[] = [];
  for (const message of messages) {
    if (missing.has(message)) waiting.push(message);
    else if (message.role === "user" && waiting.length > 0) {
      const content = [...waiting, message].map((part) => part.content).join("\n\n");
      merged.push({ ...message, content });
      waiting = [];
    } else merged.push(message);
  }
  const [unmerged] = waiting;
  if (unmerged !== undefined) {
    const { role } = unmerged;
    throw new ChatTemplateError(
      `chat: expected a user message after the ${role} message, got none; the chat template ${missing.get(unmerged)}, so its text must become part of a user message`,
    );
  }
  const sentences = [...missing].map(
    ([{ role }, reason]) => `the chat template ${reason}: the ${role} message became part of the next user message`,
  );
  return { messages: merged, warnings: [...new Set(sentences)] };
}
