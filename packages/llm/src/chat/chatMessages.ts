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
  return messages.map(({ content, ...rest }) => ({ ...rest, ...(content !== undefined && { content: textOf(content) }) }));
}

function textOf(content: string | readonly TextPart[] | null): string | null {
  return typeof content === "string" || content === null ? content : content.map(({ text }) => text).join("");
}

/** Messages in the roles that a template has. */
export interface MergedMessages {
  readonly messages: readonly PlainMessage[];
  /** Roles whose messages were merged into the next user message. */
  readonly mergedRoles: readonly string[];
}

/**
 * Merges system and developer messages into the next user message if the template lacks their role.
 * @throws {ChatTemplateError} if no user message follows
 */
export function mergeInstructions(messages: readonly PlainMessage[], hasRole: (role: string) => boolean): MergedMessages {
  const isMissing = ({ role }: PlainMessage): boolean => instructionRoles.includes(role) && !hasRole(role);
  const missing = messages.filter(isMissing);
  if (missing.length === 0) return { messages, mergedRoles: [] };
  const merged: PlainMessage[] = [];
  let waiting: PlainMessage[] = [];
  for (const message of messages) {
    if (isMissing(message)) waiting.push(message);
    else if (message.role === "user" && waiting.length > 0) {
      const content = [...waiting, message].map((part) => part.content).join("\n\n");
      merged.push({ ...message, content });
      waiting = [];
    } else merged.push(message);
  }
  if (waiting.length > 0) {
    const { role } = waiting[0]!;
    throw new ChatTemplateError(
      `chat: expected a user message after the ${role} message, got none; the chat template has no ${role} role, so its text must become part of a user message`,
    );
  }
  return { messages: merged, mergedRoles: [...new Set(missing.map(({ role }) => role))] };
}
