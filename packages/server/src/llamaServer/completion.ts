import type { GenerateOptions, Prompt } from "@centella/llm";
import * as z from "zod/mini";
import { Answer } from "../generation/answer.ts";
import type { AnswerFinish, AnswerPart } from "../generation/answerParts.ts";
import { onlyFormat, schemaField, schemaFormat } from "../generation/format.ts";
import { PromptProgress } from "../generation/promptProgress.ts";
import { samplingFields, samplingOptions } from "../generation/sampling.ts";
import { tokenLogprobs } from "../generation/tokenLogprobs.ts";
import { serverSentEvent } from "../http/apiForm.ts";
import type { BodyOf, Shape } from "../http/fields.ts";
import { type Call, json, type Route, route } from "../http/route.ts";
import { serverSentEvents, streamResponse } from "../http/streamResponse.ts";
import { numberedScales } from "../models/adapterList.ts";
import { openaiForm } from "../openai/form.ts";
import { slotField } from "../openai/generationFields.ts";
import { timingsOf } from "../openai/usage.ts";

const ids = z.array(z.int().check(z.minimum(0))).check(z.minLength(1));

/** Fields of both routes. */
const commonFields = {
  ...samplingFields,
  model: z.optional(z.string()),
  /** -1 is no limit. */
  n_predict: z.optional(
    z.int().check(
      z.minimum(-1),
      z.refine((value) => value !== 0, { error: "expected at least 1, got 0" }),
    ),
  ),
  stop: z.optional(z.array(z.string().check(z.minLength(1)))),
  stream: z.optional(z.boolean()),
  /** Number of alternatives for each token. */
  n_probs: z.optional(z.int().check(z.minimum(0), z.maximum(100))),
  json_schema: z.optional(schemaField),
  grammar: z.optional(z.string()),
  priority: z.optional(z.number()),
  id_slot: slotField,
  lora: z.optional(numberedScales),
  return_progress: z.optional(z.boolean()),
};

const ignored: Shape = {
  cache_prompt: z.optional(z.boolean()),
  return_tokens: z.optional(z.boolean()),
  timings_per_token: z.optional(z.boolean()),
};

const completionFields = { ...commonFields, prompt: z.union([z.string(), ids]) };
const infillFields = { ...commonFields, input_prefix: z.string(), input_suffix: z.string() };

function optionsOf(body: BodyOf<typeof commonFields>): GenerateOptions {
  const { n_predict: maxTokens = -1, stop = [], n_probs: logprobs = 0, json_schema: schema, grammar = "" } = body;
  const format = onlyFormat({
    json_schema: schema === undefined ? undefined : schemaFormat(schema),
    grammar: grammar === "" ? undefined : { gbnf: grammar },
  });
  return {
    ...samplingOptions(body),
    raw: true,
    ...(maxTokens > 0 && { maxTokens }),
    ...(stop.length > 0 && { stop }),
    ...(logprobs > 0 && { logprobs }),
    ...(format !== undefined && { format }),
  };
}

/** The last line of a text, with what llama-server says about it. */
function endOf(finish: AnswerFinish, { lease, slotId }: Answer): object {
  const { usage, stop, reason } = finish;
  return {
    index: 0,
    stop: true,
    id_slot: slotId,
    model: lease.name,
    tokens_predicted: usage.completionTokens,
    tokens_evaluated: usage.promptTokens,
    tokens_cached: usage.cachedTokens,
    truncated: usage.truncatedTokens > 0,
    stop_type: stop !== undefined ? "word" : reason === "eos" ? "eos" : "limit",
    stopping_word: stop ?? "",
    timings: timingsOf(finish),
  };
}

function probabilitiesOf(part: Pick<AnswerFinish, "logprobs">, { lease }: Answer): object {
  return part.logprobs === undefined ? {} : { completion_probabilities: tokenLogprobs(lease.model.tokenizer, part.logprobs) };
}

async function* lines(answer: Answer, reportsProgress: boolean): AsyncGenerator<string, void, undefined> {
  const progress = new PromptProgress();
  for await (const { choice, part } of answer.parts()) {
    if (part.type !== "prefill") {
      const line = lineOf(part, answer);
      if (line !== undefined) yield serverSentEvent(line);
    } else if (reportsProgress) yield serverSentEvent({ index: 0, content: "", tokens: [], stop: false, ...progress.of(choice, part) });
  }
}

function lineOf(part: AnswerPart, answer: Answer): object | undefined {
  if (part.type === "finish") return { content: "", tokens: [], ...endOf(part, answer) };
  if (part.type !== "text") return undefined;
  return { index: 0, content: part.text, tokens: part.ids, stop: false, ...probabilitiesOf(part, answer) };
}

async function respond(call: Call, body: BodyOf<typeof commonFields>, prompt: Prompt): Promise<Response> {
  const { model, priority, id_slot: slot, stream, lora, return_progress: reportsProgress = false } = body;
  const answer = await Answer.start(call, { model, prompts: [prompt], options: optionsOf(body), priority, slot, lora });
  if (stream) return streamResponse(call, answer, lines(answer, reportsProgress), serverSentEvents(openaiForm));
  const [finish] = await answer.finishes();
  return json({ content: finish!.text, tokens: finish!.ids, ...endOf(finish!, answer), ...probabilitiesOf(finish!, answer) });
}

export const completion: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/completion", "/completions"],
  summary: "Continues a text, as llama-server does.",
  fields: { used: completionFields, ignored },
  handle: (call, body) => respond(call, body, typeof body.prompt === "string" ? body.prompt : { ids: body.prompt }),
});

export const infill: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/infill"],
  summary: "Fills the gap in a text, as llama-server does.",
  fields: {
    used: infillFields,
    ignored: { ...ignored, prompt: z.optional(z.literal("")), input_extra: z.optional(z.array(z.never())) },
  },
  handle: (call, body) => respond(call, body, { prefix: body.input_prefix, suffix: body.input_suffix }),
});
