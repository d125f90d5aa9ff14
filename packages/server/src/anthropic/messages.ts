import type { ChatMessage } from "@centella/llm";
import * as z from "zod/mini";
import { maxMessages, textOf } from "../fields/shared.ts";

/** Marks what Anthropic's servers cache. It has no effect: computed prefixes are always shared. */
export const cacheControl = z.nullish(z.record(z.string(), z.unknown()));

const textBlock = z.strictObject({
  type: z.literal("text"),
  text: z.string(),
  cache_control: cacheControl,
  citations: z.nullish(z.array(z.unknown())),
});
const resultText = z.strictObject({ type: onlyText(), text: z.string(), cache_control: cacheControl });
const toolResult = z.strictObject({
  type: z.literal("tool_result"),
  tool_use_id: z.string(),
  content: z.optional(z.union([z.string(), z.array(resultText)])),
  is_error: z.optional(z.boolean()),
  cache_control: cacheControl,
});

const block = z.discriminatedUnion(
  "type",
  [
    textBlock,
    z.strictObject({ type: z.literal("thinking"), thinking: z.string(), signature: z.optional(z.string()) }),
    z.strictObject({
      type: z.literal("tool_use"),
      id: z.string(),
      name: z.string(),
      input: z.record(z.string(), z.unknown()),
      cache_control: cacheControl,
      caller: z.nullish(z.unknown()),
    }),
    toolResult,
  ],
  { error: "expected a block of text, thinking, tool_use or tool_result; images, documents and others are not supported" },
);

type Block = z.output<typeof block>;

const message = z.strictObject({ role: z.enum(["user", "assistant", "system"]), content: z.union([z.string(), z.array(block)]) });

/** Messages of a conversation. */
export const messagesField = z.array(message).check(z.minLength(1), z.maxLength(maxMessages));

/** The system message. */
export const systemField = z.union([z.string(), z.array(textBlock)]);

function onlyText(): z.ZodMiniLiteral<"text"> {
  return z.literal("text", {
    error: ({ input }) => `expected "text", got ${JSON.stringify(input)}; images and documents are not supported`,
  });
}

/** The conversation as the engine takes it. */
export function chatMessages(
  messages: readonly z.output<typeof message>[],
  system: z.output<typeof systemField> | undefined,
): readonly ChatMessage[] {
  const first = system === undefined ? [] : [{ role: "system", content: textOf(system) }];
  return [
    ...first,
    ...messages.flatMap(({ role, content }) => (typeof content === "string" ? [{ role, content }] : messagesOf(role, content))),
  ];
}

/** A message of blocks: results of tools become messages before it. */
function messagesOf(role: string, blocks: readonly Block[]): readonly ChatMessage[] {
  const results = blocks.flatMap((each) =>
    each.type === "tool_result" ? [{ role: "tool", tool_call_id: each.tool_use_id, content: resultOf(each) }] : [],
  );
  const texts = blocks.flatMap((each) => (each.type === "text" ? [each] : []));
  const thinking = blocks.map((each) => (each.type === "thinking" ? each.thinking : "")).join("");
  const calls = blocks.flatMap((each) =>
    each.type === "tool_use"
      ? [{ id: each.id, type: "function", function: { name: each.name, arguments: JSON.stringify(each.input) } }]
      : [],
  );
  if (texts.length === 0 && calls.length === 0 && results.length > 0) return results;
  const own: ChatMessage = {
    role,
    content: textOf(texts),
    ...(thinking !== "" && { reasoning_content: thinking }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return [...results, own];
}

/** The text of a result. A template has no other place for a failure. */
function resultOf({ content = "", is_error: isError }: z.output<typeof toolResult>): string {
  return isError ? `Error: ${textOf(content)}` : textOf(content);
}
