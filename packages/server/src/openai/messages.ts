import type { ChatMessage } from "@centella/llm";
import * as z from "zod/mini";
import { maxMessages } from "../fields/shared.ts";

const textPart = z.strictObject({
  type: z.literal("text", {
    error: ({ input }) => `expected "text", got ${JSON.stringify(input)}; images, audio and files are not supported`,
  }),
  text: z.string(),
});

const toolCall = z.strictObject({
  id: z.string(),
  type: z.optional(z.literal("function")),
  index: z.optional(z.int()),
  function: z.strictObject({ name: z.string().check(z.minLength(1)), arguments: z.string() }),
});

const message = z.strictObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool"]),
  content: z.nullish(z.union([z.string(), z.array(textPart)])),
  name: z.optional(z.string()),
  tool_calls: z.nullish(z.array(toolCall)),
  tool_call_id: z.optional(z.string()),
  reasoning_content: z.nullish(z.string()),
  // Fields of answers, which clients send back. They have no effect.
  reasoning: z.nullish(z.string()),
  refusal: z.nullish(z.string()),
  annotations: z.nullish(z.array(z.unknown())),
  audio: z.optional(z.null()),
  function_call: z.optional(z.null()),
});

/** Messages of a conversation. */
export const messagesField = z.array(message).check(z.minLength(1), z.maxLength(maxMessages));

type Message = z.output<typeof message>;

/** Messages as the engine takes them. */
export function chatMessages(messages: readonly Message[]): readonly ChatMessage[] {
  return messages.map(({ role, content, name, tool_calls: calls, tool_call_id: id, reasoning_content, reasoning }) => ({
    role,
    // An answer without content is empty, unless it calls tools.
    content: content ?? (calls?.length ? null : ""),
    ...(name !== undefined && { name }),
    ...(calls?.length && { tool_calls: calls.map((call) => ({ id: call.id, type: "function", function: call.function })) }),
    ...(id !== undefined && { tool_call_id: id }),
    ...((reasoning_content ?? reasoning) && { reasoning_content: reasoning_content ?? reasoning }),
  }));
}
