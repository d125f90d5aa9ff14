import type { ChatMessage } from "@centella/llm";
import * as z from "zod/mini";
import { maxMessages } from "../fields/shared.ts";
import { schemaField } from "../generation/format.ts";

/** Images, of which there may be none. */
export const imagesField = z.nullish(z.array(z.never({ error: "images are not supported" })));

const message = z.strictObject({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: z.optional(z.string()),
  thinking: z.optional(z.string()),
  images: imagesField,
  tool_calls: z.nullish(
    z.array(
      z.strictObject({
        id: z.optional(z.string()),
        type: z.optional(z.literal("function")),
        function: z.strictObject({ index: z.optional(z.int()), name: z.string(), arguments: z.record(z.string(), z.unknown()) }),
      }),
    ),
  ),
  tool_name: z.optional(z.string()),
  tool_call_id: z.optional(z.string()),
});

/** Messages of a conversation. */
export const messagesField = z.array(message).check(z.minLength(1), z.maxLength(maxMessages));

/** Tools of a conversation. */
export const toolsField = z.array(
  z.strictObject({
    type: z.literal("function"),
    function: z.strictObject({
      name: z.string(),
      description: z.optional(z.string()),
      parameters: z.optional(schemaField),
      strict: z.optional(z.boolean()),
    }),
  }),
);

/** The conversation as the engine takes it. Calls without ids get them, and results answer the calls in their order. */
export function chatMessages(messages: readonly z.output<typeof message>[]): readonly ChatMessage[] {
  let count = 0;
  const unanswered: string[] = [];
  return messages.map(({ role, content = "", thinking, tool_calls: calls, tool_name: name, tool_call_id: given }) => {
    if (role === "tool") {
      const id = given ?? unanswered.shift();
      return { role, content, ...(name !== undefined && { name }), ...(id !== undefined && { tool_call_id: id }) };
    }
    const identified = calls?.map(({ id, function: { name: called, arguments: args } }) => {
      const own = id ?? `call${String(count++).padStart(5, "0")}`;
      unanswered.push(own);
      return { id: own, type: "function", function: { name: called, arguments: JSON.stringify(args) } };
    });
    return {
      role,
      content,
      ...(thinking !== undefined && thinking !== "" && { reasoning_content: thinking }),
      ...(identified?.length && { tool_calls: identified }),
    };
  });
}
