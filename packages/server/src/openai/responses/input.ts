import type { ChatMessage } from "@centella/llm";
import * as z from "zod/mini";
import { maxMessages, textOf } from "../../fields/shared.ts";
import { checking } from "../../http/fields.ts";

const onlyText = "images, audio and files are not supported";
const inputText = z.strictObject({
  type: z.literal(["input_text", "output_text"], {
    error: ({ input }) => `expected "input_text", got ${JSON.stringify(input)}; ${onlyText}`,
  }),
  text: z.string(),
  annotations: z.optional(z.array(z.unknown())),
  logprobs: z.optional(z.array(z.unknown())),
  // The official client adds it to what it has parsed. It has no effect.
  parsed: z.optional(z.unknown()),
});
const content = z.union([z.string(), z.array(inputText)]);
const [id, status] = [z.nullish(z.string()), z.nullish(z.string())];

const message = z.strictObject({
  type: z.optional(z.literal("message")),
  role: z.enum(["user", "assistant", "system", "developer"]),
  content,
  ...{ id, status },
  phase: z.nullish(z.string()),
});
const call = z.strictObject({
  type: z.literal("function_call"),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  parsed_arguments: z.optional(z.unknown()),
  ...{ id, status },
});
const result = z.strictObject({ type: z.literal("function_call_output"), call_id: z.string(), output: content, ...{ id, status } });
const thought = z.strictObject({
  type: z.literal("reasoning"),
  summary: z.optional(z.array(z.strictObject({ type: z.literal("summary_text"), text: z.string() }))),
  content: z.optional(z.array(z.strictObject({ type: z.literal("reasoning_text"), text: z.string() }))),
  encrypted_content: z.optional(z.null()),
  ...{ id, status },
});

type Item = z.output<typeof message> | z.output<typeof call> | z.output<typeof result> | z.output<typeof thought>;

/** Schema of the item that a value is meant to be, so that errors name its fields. */
const item = z.pipe(
  z.unknown(),
  z.transform((value, context): Item => {
    const { type = "message" } = (value ?? {}) as { readonly type?: unknown };
    const schema = { message, function_call: call, function_call_output: result, reasoning: thought }[String(type)];
    const parsed = schema?.safeParse(value, checking);
    if (parsed?.success) return parsed.data as Item;
    const known = "expected a message, function_call, function_call_output or reasoning";
    context.issues.push(
      ...((parsed?.error.issues ?? [
        { code: "custom", path: ["type"], message: `${known}, got ${JSON.stringify(type)}`, input: type },
      ]) as never[]),
    );
    return z.NEVER;
  }),
);

/** The input of a response. */
export const inputField = z.union([z.string(), z.array(item).check(z.minLength(1), z.maxLength(maxMessages))]);

/** An assistant's message whose items follow one another. */
interface Turn {
  content: string;
  reasoning: string;
  readonly calls: object[];
}

/** The conversation as the engine takes it. Reasoning, text and calls that follow one another are one message. */
export function chatMessages(input: string | readonly Item[], instructions: string | undefined): readonly ChatMessage[] {
  const messages: ChatMessage[] = instructions === undefined ? [] : [{ role: "system", content: instructions }];
  if (typeof input === "string") return [...messages, { role: "user", content: input }];
  let turn: Turn | undefined;
  const end = (): void => {
    if (turn !== undefined) messages.push(messageOf(turn));
    turn = undefined;
  };
  for (const each of input) {
    if (each.type === "function_call_output") {
      end();
      messages.push({ role: "tool", tool_call_id: each.call_id, content: textOf(each.output) });
    } else if (each.type !== "reasoning" && each.type !== "function_call" && each.role !== "assistant") {
      end();
      messages.push({ role: each.role, content: textOf(each.content) });
    } else {
      turn ??= { content: "", reasoning: "", calls: [] };
      addTo(turn, each);
    }
  }
  end();
  return messages;
}

function addTo(turn: Turn, each: Exclude<Item, { readonly type: "function_call_output" }>): void {
  if (each.type === "reasoning") turn.reasoning += textOf(each.content?.length ? each.content : (each.summary ?? []));
  else if (each.type === "function_call")
    turn.calls.push({ id: each.call_id, type: "function", function: { name: each.name, arguments: each.arguments } });
  else turn.content += textOf(each.content);
}

function messageOf({ content: text, reasoning, calls }: Turn): ChatMessage {
  return {
    role: "assistant",
    content: text,
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}
