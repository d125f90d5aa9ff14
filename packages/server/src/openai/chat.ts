import type { AnswerFormat, GenerateOptions, ReasoningOptions } from "@centella/llm";
import * as z from "zod/mini";
import { logprobsOption, placementOf } from "../fields/llamaServer.ts";
import { Answer } from "../generation/answer.ts";
import { countTokens } from "../generation/countTokens.ts";
import { anyObject, onlyFormat, schemaField, schemaFormat } from "../generation/format.ts";
import type { BodyOf, FieldTable, Shape } from "../http/fields.ts";
import { json, type Route, route } from "../http/route.ts";
import { serverSentEvents, streamResponse } from "../http/streamResponse.ts";
import { chatChunks } from "./chatChunks.ts";
import { chatCompletion } from "./chatCompletion.ts";
import { openaiForm } from "./form.ts";
import { generationFields, generationOptions, ignoredFields } from "./generationFields.ts";
import { chatMessages, messagesField } from "./messages.ts";
import { chatToolFields, chatToolOptions } from "./tools.ts";

const used = {
  ...generationFields,
  ...chatToolFields,
  messages: messagesField,
  max_completion_tokens: z.optional(z.int().check(z.minimum(1))),
  logprobs: z.optional(z.boolean()),
  top_logprobs: z.optional(z.int().check(z.minimum(0), z.maximum(20))),
  response_format: z.optional(
    z.discriminatedUnion("type", [
      z.strictObject({ type: z.literal("text") }),
      z.strictObject({ type: z.literal("json_object"), schema: z.optional(schemaField) }),
      z.strictObject({
        type: z.literal("json_schema"),
        json_schema: z.strictObject({
          name: z.optional(z.string()),
          description: z.optional(z.string()),
          schema: z.optional(schemaField),
          strict: z.nullish(z.boolean()),
        }),
      }),
    ]),
  ),
  /** JSON Schema of the answer, as llama-server names it. */
  json_schema: z.optional(schemaField),
  /** GBNF of the answer, as llama-server names it. */
  grammar: z.optional(z.string()),
  reasoning_effort: z.optional(z.string()),
  /** "none" leaves the reasoning in the text. */
  reasoning_format: z.optional(z.enum(["auto", "deepseek", "none"])),
  reasoning_budget: z.optional(z.int().check(z.minimum(-1))),
  /** Variables of the chat template. */
  chat_template_kwargs: z.optional(z.record(z.string(), z.unknown())),
};

type ChatBody = BodyOf<typeof used>;

const fields: FieldTable<typeof used> = {
  used,
  ignored: {
    ...ignoredFields,
    store: z.optional(z.literal(false, { error: "expected false, got true; completions are not stored" })),
    prompt_cache_key: z.optional(z.string()),
    prompt_cache_retention: z.optional(z.string()),
    verbosity: z.optional(z.string()),
    prediction: z.optional(z.unknown()),
    modalities: z.optional(z.array(z.literal("text"))),
  } satisfies Shape,
  refused: {
    audio: "answers are text",
    web_search_options: "the server searches nothing",
    functions: "use tools",
    function_call: "use tool_choice",
  },
};

function formatOf({ response_format: format, json_schema, grammar }: ChatBody): AnswerFormat | undefined {
  const schemaGiven =
    format?.type === "json_schema"
      ? (format.json_schema.schema ?? anyObject)
      : format?.type === "json_object"
        ? (format.schema ?? anyObject)
        : undefined;
  return onlyFormat({
    response_format: schemaGiven === undefined ? undefined : schemaFormat(schemaGiven),
    json_schema: json_schema === undefined ? undefined : schemaFormat(json_schema),
    grammar: grammar === undefined || grammar === "" ? undefined : { gbnf: grammar },
  });
}

function reasoningOf({
  reasoning_effort: effort,
  reasoning_format: format,
  reasoning_budget: budget = -1,
}: ChatBody): GenerateOptions["reasoning"] {
  const control: ReasoningOptions = {
    ...(effort !== undefined && (effort === "none" ? { off: true } : { effort })),
    ...(budget === 0 ? { off: true } : budget > 0 && { budget }),
  };
  if (format === "none") return false;
  return Object.keys(control).length > 0 ? control : undefined;
}

/** The engine's options for a chat. */
function chatOptions(body: ChatBody): GenerateOptions {
  const { chat_template_kwargs: variables, logprobs: isWanted, top_logprobs: top, n_probs: probs } = body;
  const [format, reasoning] = [formatOf(body), reasoningOf(body)];
  return {
    ...generationOptions(body),
    ...chatToolOptions(body),
    ...(format !== undefined && { format }),
    ...(reasoning !== undefined && { reasoning }),
    ...(variables !== undefined && { chat: { variables } }),
    ...logprobsOption({ own: ["top_logprobs", top], probs, isWanted }),
  };
}

export const chat: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/v1/chat/completions", "/chat/completions"],
  summary: "Answers a conversation.",
  fields,
  async handle(call, body) {
    const { model, n: choices = 1 } = body;
    const prompts = [chatMessages(body.messages)];
    const answer = await Answer.start(call, { model, prompts, options: chatOptions(body), choices, ...placementOf(body) });
    if (!body.stream) return json(await chatCompletion(answer, choices));
    const options = { choices, includesUsage: body.stream_options?.include_usage === true, reportsProgress: body.return_progress === true };
    return streamResponse(call, answer, chatChunks(answer, options), serverSentEvents(openaiForm));
  },
});

export const chatInputTokens: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/v1/chat/completions/input_tokens", "/chat/completions/input_tokens"],
  summary: "Counts the tokens of a conversation.",
  fields,
  async handle(call, body) {
    const prompt = chatMessages(body.messages);
    const count = await countTokens(call, { model: body.model, prompt, options: chatOptions(body) });
    return json({ object: "chat.completion.input_tokens", input_tokens: count });
  },
});
