import type { ChatMessage } from "@centella/llm";
import { describe, isRecord } from "@centella/quant/checks";
import { domException, refuse } from "./errors.ts";
import type { PromptInput } from "./types.ts";

/** Messages of a call in the engine's terms. */
export interface ReadInput {
  readonly messages: readonly ChatMessage[];
  /** Whether the answer continues the last message. */
  readonly isPrefix: boolean;
}

/**
 * Reads and checks the messages of a call. Parts of a text are joined.
 * @param where the call, for error messages
 * @throws {TypeError} for messages of another form, and for a system message that is not the first
 * @throws {DOMException} NotSupportedError for images and sound, SyntaxError for a prefix in another place than the end
 */
export function readInput(where: string, input: PromptInput): ReadInput {
  // Values of other types become strings, as arguments of type DOMString do.
  if (!Array.isArray(input)) return { messages: [{ role: "user", content: String(input) }], isPrefix: false };
  if (input.length === 0) return { messages: [{ role: "user", content: "" }], isPrefix: false };
  const messages = input.map((message: unknown, i) => readMessage(`${where}: message ${i}`, message, i === input.length - 1));
  if (messages.some(({ role }, i) => role === "system" && i > 0)) systemNotFirst(where);
  return { messages, isPrefix: input.at(-1).prefix === true };
}

/** @throws {TypeError} always */
export function systemNotFirst(where: string): never {
  throw new TypeError(
    `${where}: expected a system message only as the first message of a session, got one later; pass it in initialPrompts`,
  );
}

function readMessage(where: string, message: unknown, isLast: boolean): ChatMessage {
  if (!isRecord(message)) throw new TypeError(`${where}: expected { role, content }, got ${describe(message)}`);
  const { role, content, prefix = false } = message;
  if (role !== "system" && role !== "user" && role !== "assistant")
    throw new TypeError(`${where}: expected the role "system", "user" or "assistant", got ${describe(role)}`);
  if (content === undefined) throw new TypeError(`${where}: expected content, got none`);
  if (prefix === true && (role !== "assistant" || !isLast))
    throw domException("SyntaxError", `${where}: expected prefix in the last message and of the assistant, got it in another`);
  return { role, content: Array.isArray(content) ? content.map((part) => readText(where, part)).join("") : String(content) };
}

function readText(where: string, part: unknown): string {
  if (!isRecord(part)) throw new TypeError(`${where}: expected content { type, value }, got ${describe(part)}`);
  const { type, value } = part;
  switch (type) {
    case "text":
      if (typeof value === "string") return value;
      throw new TypeError(`${where}: expected the value of a text to be a string, got ${describe(value)}`);
    case "image":
    case "audio":
    case "tool-call":
    case "tool-response":
      return refuse(where, `content of type "${type}" is not supported; models read text alone`);
    default:
      throw new TypeError(`${where}: expected content of type "text", got ${describe(type)}`);
  }
}
