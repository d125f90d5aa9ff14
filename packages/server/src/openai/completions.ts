import type { Prompt } from "@centella/llm";
import * as z from "zod/mini";
import { ApiError } from "../errors.ts";
import { Answer } from "../generation/answer.ts";
import type { BodyOf, FieldTable } from "../http/fields.ts";
import { json, type Route, route } from "../http/route.ts";
import { serverSentEvents, streamResponse } from "../http/streamResponse.ts";
import { completionOf } from "./completionBody.ts";
import { completionChunks } from "./completionChunks.ts";
import { openaiForm } from "./form.ts";
import { generationFields, generationOptions, ignoredFields } from "./generationFields.ts";

/** Most prompts of a request. */
const maxPrompts = 1024;
const ids = z.array(z.int().check(z.minimum(0))).check(z.minLength(1));

const used = {
  ...generationFields,
  prompt: z.union([z.string(), ids, z.array(z.union([z.string(), ids])).check(z.minLength(1), z.maxLength(maxPrompts))]),
  /** Text after the gap that the answer fills. */
  suffix: z.optional(z.string()),
  /** Number of alternatives for each token. */
  logprobs: z.optional(z.int().check(z.minimum(0), z.maximum(20))),
  /** Begin the text with the prompt. */
  echo: z.optional(z.boolean()),
  /** GBNF of the answer, as llama-server names it. */
  grammar: z.optional(z.string()),
};

const fields: FieldTable<typeof used> = {
  used,
  ignored: { ...ignoredFields, best_of: z.optional(z.literal(1, { error: "expected 1, got more; use n" })) },
};

type GivenPrompt = string | readonly number[];

function promptsOf({ prompt }: BodyOf<typeof used>): readonly GivenPrompt[] {
  if (typeof prompt === "string") return [prompt];
  return prompt.every((each) => typeof each === "number") ? [prompt] : (prompt as readonly GivenPrompt[]);
}

function preparedPrompt(prompt: GivenPrompt, suffix: string | undefined): Prompt {
  if (typeof prompt !== "string") return { ids: prompt };
  return suffix === undefined ? prompt : { prefix: prompt, suffix };
}

export const completions: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/v1/completions"],
  summary: "Continues texts.",
  fields,
  async handle(call, body) {
    const { model, n: choices = 1, priority, suffix, logprobs, grammar, echo, id_slot: slot, lora } = body;
    const given = promptsOf(body);
    if (echo && logprobs !== undefined)
      throw new ApiError(400, "unsupported_value", "echo: expected false with logprobs, got true; prompts have no log probabilities", {
        param: "echo",
      });
    const options = {
      ...generationOptions(body),
      raw: true,
      ...(logprobs !== undefined && { logprobs }),
      ...(grammar !== undefined && grammar !== "" && { format: { gbnf: grammar } }),
    };
    const prompts = given.map((prompt) => preparedPrompt(prompt, suffix));
    const answer = await Answer.start(call, { model, prompts, options, choices, priority, slot, lora });
    const { tokenizer } = answer.lease.model;
    const echoes = echo ? given.map((prompt) => (typeof prompt === "string" ? prompt : tokenizer.decode(prompt))) : given.map(() => "");
    if (!body.stream) return json(await completionOf(answer, choices, echoes));
    const [includesUsage, reportsProgress] = [body.stream_options?.include_usage === true, body.return_progress === true];
    const stream = { choices, echoes, includesUsage, reportsProgress };
    return streamResponse(call, answer, completionChunks(answer, stream), serverSentEvents(openaiForm));
  },
});
