import { describe } from "@centella/quant/checks";
import { ChatTemplateError } from "../errors.ts";

/** A piece of a message whose content is a list. Only text can be rendered. */
export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

/** One turn of a conversation; further fields (`tool_calls`, `name`, `reasoning_content`, …) reach the template as they are. */
export interface ChatMessage {
  /**
   * Letters, digits, `_`, `.`, `-` and spaces. Usual: system, user, assistant, tool. Templates make special tokens of roles, so a role must
   * come from your own code.
   */
  readonly role: string;
  /** Required, but for an assistant's message with `tool_calls`. */
  readonly content?: string | readonly TextPart[] | null;
  readonly [field: string]: unknown;
}

/** A message whose content is one text. */
export interface PlainMessage {
  readonly role: string;
  readonly content?: string | null;
  readonly [field: string]: unknown;
}

/** Roles of messages that say how to answer. */
const instructionRoles: readonly string[] = ["system", "developer"];
const rolePattern = /^[\w. -]+$/;

/**
 * Checks messages, and joins lists of text parts, which not every template understands.
 * @throws {ChatTemplateError} if there are none or one is malformed
 */
export function checkMessages(messages: readonly ChatMessage[]): PlainMessage[] {
  if (!Array.isArray(messages) || messages.length === 0) throw new ChatTemplateError("chat: expected at least one message, got none");
  return messages.map(checkMessage);
}

function checkMessage(message: ChatMessage, index: number): PlainMessage {
  const where = `chat: message ${index}`;
  if (typeof message?.role !== "string" || !rolePattern.test(message.role)) {
    throw new ChatTemplateError(`${where}: expected a role of letters, digits, "_", ".", "-" and spaces, got ${describe(message?.role)}`);
  }
  const { role, content, tool_calls: calls } = message;
  if (typeof content === "string") return message as PlainMessage;
  if (content === undefined || content === null) {
    if (role === "assistant" && Array.isArray(calls) && calls.length > 0) return message as PlainMessage;
    throw new ChatTemplateError(
      `${where}: expected content, got ${content}; only an assistant's message with tool_calls may have none, and "" is an empty message`,
    );
  }
  if (!Array.isArray(content))
    throw new ChatTemplateError(`${where}: expected content to be text or a list of parts, got ${describe(content)}`);
  const texts = content.map((part: unknown) => {
    const { type, text } = (part ?? {}) as Partial<TextPart>;
    if (type !== "text" || typeof text !== "string") {
      throw new ChatTemplateError(
        `${where}: expected parts of type "text", got ${describe(type)}; other kinds of content are not supported`,
      );
    }
    return text;
  });
  return { ...message, content: texts.join("") };
}

/** Messages without the roles that a template does not have. */
export interface MergedMessages {
  readonly messages: readonly PlainMessage[];
  /** Roles whose messages became part of the next user message. */
  readonly mergedRoles: readonly string[];
}

/**
 * Puts system and developer messages before the text of the next user message where a template does not have their role.
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
