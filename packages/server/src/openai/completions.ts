import type { Prompt } from "@centella/llm";
import * as z from "zod/mini";
import { ApiError } from "../errors.ts";
import { logprobsOption, placementOf } from "../fields/llamaServer.ts";
import { type GivenPrompt, promptField, promptOf, promptsOf } from "../fields/prompts.ts";
import { Answer } from "../generation/answer.ts";
import type { FieldTable } from "../http/fields.ts";
import { json, type Route, route } from "../http/route.ts";
import { serverSentEvents, streamResponse } from "../http/streamResponse.ts";
import { completionOf } from "./completionBody.ts";
import { completionChunks } from "./completionChunks.ts";
import { openaiForm } from "./form.ts";
import { generationFields, generationOptions, ignoredFields } from "./generationFields.ts";

const used = {
  ...generationFields,
  prompt: promptField,
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

/** @throws {ApiError} 400 for token ids before a gap */
function preparedPrompt(given: GivenPrompt, suffix: string | undefined): Prompt {
  if (suffix === undefined) return promptOf(given);
  if (typeof given === "string") return { prefix: given, suffix };
  throw new ApiError(400, "unsupported_value", "suffix: expected none with a prompt of token ids, got one; send the prompt as text", {
    param: "suffix",
  });
}

export const completions: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/v1/completions"],
  summary: "Continues texts.",
  fields,
  async handle(call, body) {
    const { model, n: choices = 1, suffix, grammar, echo } = body;
    const given = promptsOf(body.prompt);
    const logprobs = logprobsOption({ own: ["logprobs", body.logprobs], probs: body.n_probs });
    if (echo && logprobs.logprobs !== undefined)
      throw new ApiError(400, "unsupported_value", "echo: expected false with logprobs, got true; prompts have no log probabilities", {
        param: "echo",
      });
    const options = {
      ...generationOptions(body),
      raw: true,
      ...logprobs,
      ...(grammar !== undefined && grammar !== "" && { format: { gbnf: grammar } }),
    };
    const prompts = given.map((prompt) => preparedPrompt(prompt, suffix));
    const answer = await Answer.start(call, { model, prompts, options, choices, ...placementOf(body) });
    const { tokenizer } = answer.lease.model;
    const echoes = echo ? given.map((prompt) => (typeof prompt === "string" ? prompt : tokenizer.decode(prompt))) : given.map(() => "");
    if (!body.stream) return json(await completionOf(answer, choices, echoes));
    const [includesUsage, reportsProgress] = [body.stream_options?.include_usage === true, body.return_progress === true];
    const stream = { choices, echoes, includesUsage, reportsProgress };
    return streamResponse(call, answer, completionChunks(answer, stream), serverSentEvents(openaiForm));
  },
});
