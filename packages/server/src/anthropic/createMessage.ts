import type { GenerateOptions, ReasoningOptions, ToolOptions } from "@centella/llm";
import * as z from "zod/mini";
import { placementFields, placementOf, unusedFields } from "../fields/llamaServer.ts";
import { Answer } from "../generation/answer.ts";
import { countTokens } from "../generation/countTokens.ts";
import { schemaField, schemaFormat } from "../generation/format.ts";
import { samplingFields, samplingOptions } from "../generation/sampling.ts";
import { toolOptions } from "../generation/tools.ts";
import type { BodyOf, FieldTable, Shape } from "../http/fields.ts";
import { json, type Route, route } from "../http/route.ts";
import { serverSentEvents, streamResponse } from "../http/streamResponse.ts";
import { anthropicForm } from "./form.ts";
import { messageOf } from "./messageBody.ts";
import { messageEvents, pingEvent } from "./messageEvents.ts";
import { cacheControl, chatMessages, messagesField, systemField } from "./messages.ts";

const isSerial = z.optional(z.boolean());

/** Fields of the prompt. */
const promptFields = {
  model: z.string(),
  messages: messagesField,
  system: z.optional(systemField),
  tools: z.optional(
    z.array(
      z.strictObject({
        type: z.optional(
          z.literal("custom", {
            error: ({ input }) => `expected "custom", got ${JSON.stringify(input)}; tools of Anthropic's servers are not supported`,
          }),
        ),
        name: z.string(),
        description: z.optional(z.string()),
        input_schema: schemaField,
        strict: z.optional(z.boolean()),
        cache_control: cacheControl,
        input_examples: z.optional(z.array(z.unknown())),
      }),
    ),
  ),
  tool_choice: z.optional(
    z.discriminatedUnion("type", [
      z.strictObject({ type: z.literal("auto"), disable_parallel_tool_use: isSerial }),
      z.strictObject({ type: z.literal("any"), disable_parallel_tool_use: isSerial }),
      z.strictObject({ type: z.literal("none") }),
      z.strictObject({ type: z.literal("tool"), name: z.string(), disable_parallel_tool_use: isSerial }),
    ]),
  ),
  thinking: z.optional(
    z.discriminatedUnion("type", [
      z.strictObject({ type: z.literal("enabled"), budget_tokens: z.int().check(z.minimum(1)), display: z.optional(z.string()) }),
      z.strictObject({ type: z.literal("adaptive"), display: z.optional(z.string()) }),
      z.strictObject({ type: z.literal("disabled") }),
    ]),
  ),
  output_config: z.optional(
    z.strictObject({
      effort: z.nullish(z.string()),
      format: z.nullish(z.strictObject({ type: z.literal("json_schema"), schema: schemaField })),
    }),
  ),
};

const used = {
  ...promptFields,
  max_tokens: z.int().check(z.minimum(1)),
  stop_sequences: z.optional(z.array(z.string().check(z.minLength(1)))),
  stream: z.optional(z.boolean()),
  ...placementFields,
  ...samplingFields,
};

const ignored: Shape = {
  ...unusedFields,
  metadata: z.optional(z.record(z.string(), z.unknown())),
  service_tier: z.optional(z.string()),
  cache_control: cacheControl,
  inference_geo: z.optional(z.string()),
  speed: z.optional(z.string()),
};

const refused = {
  n_probs: "messages have no log probabilities",
  container: "the server runs no code",
  mcp_servers: "the server calls no tools",
  context_management: "prompts are not edited",
};

const fields: FieldTable<typeof used> = { used, ignored, refused };
const countFields: FieldTable<typeof promptFields> = { used: promptFields, ignored, refused };

type PromptBody = BodyOf<typeof promptFields>;

function toolsOf({ tools, tool_choice: choice }: PromptBody): ToolOptions {
  const isSerial = choice !== undefined && choice.type !== "none" && choice.disable_parallel_tool_use === true;
  return toolOptions({
    tools: tools?.map(({ name, description, input_schema: schema, strict }) => ({ name, description, schema, strict })),
    choice: choice?.type === "tool" ? { name: choice.name } : choice?.type === "any" ? "required" : choice?.type,
    isParallel: !isSerial,
  });
}

function reasoningOf({ thinking, output_config: { effort } = {} }: PromptBody): ReasoningOptions | undefined {
  if (thinking?.type === "disabled") return { off: true };
  const budget = thinking?.type === "enabled" ? { budget: thinking.budget_tokens } : {};
  const options = { ...budget, ...(effort != null && { effort }) };
  return Object.keys(options).length > 0 ? options : undefined;
}

function promptOptions(body: PromptBody): GenerateOptions {
  const schema = body.output_config?.format?.schema;
  const reasoning = reasoningOf(body);
  return {
    ...toolsOf(body),
    ...(schema !== undefined && { format: schemaFormat(schema) }),
    ...(reasoning !== undefined && { reasoning }),
  };
}

export const createMessage: Route = route({
  api: anthropicForm,
  method: "POST",
  paths: ["/v1/messages"],
  summary: "Answers a conversation, as Anthropic's API does.",
  fields,
  async handle(call, body) {
    const { model, max_tokens: maxTokens, stop_sequences: stop } = body;
    const options: GenerateOptions = {
      ...promptOptions(body),
      ...samplingOptions(body),
      maxTokens,
      ...(stop !== undefined && { stop }),
    };
    const answer = await Answer.start(call, { model, prompts: [chatMessages(body.messages, body.system)], options, ...placementOf(body) });
    if (!body.stream) return json(await messageOf(answer));
    return streamResponse(call, answer, messageEvents(answer), { ...serverSentEvents(anthropicForm), ping: pingEvent, preamble: 1 });
  },
});

export const countMessageTokens: Route = route({
  api: anthropicForm,
  method: "POST",
  paths: ["/v1/messages/count_tokens"],
  summary: "Counts the tokens of a conversation.",
  fields: countFields,
  async handle(call, body) {
    const prompt = chatMessages(body.messages, body.system);
    return json({ input_tokens: await countTokens(call, { model: body.model, prompt, options: promptOptions(body) }) });
  },
});
