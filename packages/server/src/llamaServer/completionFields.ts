import type { GenerateOptions, Prompt } from "@centella/llm";
import * as z from "zod/mini";
import { alternativesField, placementFields, unusedFields } from "../fields/llamaServer.ts";
import { promptField } from "../fields/prompts.ts";
import { stopField, stopOptions } from "../fields/shared.ts";
import { onlyFormat, schemaField, schemaFormat } from "../generation/format.ts";
import { samplingFields, samplingOptions } from "../generation/sampling.ts";
import type { BodyOf, FieldTable, Shape } from "../http/fields.ts";

/** Fields of both routes. */
const commonFields = {
  ...placementFields,
  ...samplingFields,
  model: z.optional(z.string()),
  /** -1 is no limit. 0 computes the prompt, for later requests. */
  n_predict: z.optional(z.int().check(z.minimum(-1))),
  stop: stopField,
  stream: z.optional(z.boolean()),
  n_probs: alternativesField,
  json_schema: z.optional(schemaField),
  grammar: z.optional(z.string()),
  return_progress: z.optional(z.boolean()),
  /** Fields of the answer, or of its last line. A path such as `timings/prompt_n` is a field with this name. Default: all. */
  response_fields: z.optional(z.array(z.string())),
};

/** The fields of a request, as both routes have them. */
export type CompletionBody = BodyOf<typeof commonFields>;

// Tokens are always there.
const ignored: Shape = { ...unusedFields, return_tokens: z.optional(z.boolean()) };

const completionUsed = { ...commonFields, prompt: promptField };

/** Fields of `/completion`. */
export const completionFields: FieldTable<typeof completionUsed> = { used: completionUsed, ignored };

/** A part of another file, as editors send it. */
const extra = z.strictObject({ text: z.string(), filename: z.optional(z.string()), time: z.optional(z.unknown()) });

const infillUsed = {
  ...commonFields,
  input_prefix: z.string(),
  input_suffix: z.string(),
  /** Text after the prefix: the line with the gap. */
  prompt: z.optional(z.string()),
  input_extra: z.optional(z.array(extra)),
};

/** Fields of `/infill`. */
export const infillFields: FieldTable<typeof infillUsed> = { used: infillUsed, ignored };

/** A gap as the engine takes it. */
export function gapOf({ input_prefix, input_suffix: suffix, prompt = "", input_extra = [] }: BodyOf<typeof infillUsed>): Prompt {
  return { prefix: input_prefix + prompt, suffix, files: input_extra.map(({ text, filename: name = "tmp" }) => ({ name, text })) };
}

/** The engine's options. */
export function completionOptions(body: CompletionBody): GenerateOptions {
  const { n_predict: maxTokens = -1, stop, n_probs: logprobs = 0, json_schema: schema, grammar = "" } = body;
  // The engine generates at least one token, which `completionText.ts` leaves out. Sampling options then have nothing to sample.
  if (maxTokens === 0) return { raw: true, maxTokens: 1, temperature: 0 };
  const format = onlyFormat({
    json_schema: schema === undefined ? undefined : schemaFormat(schema),
    grammar: grammar === "" ? undefined : { gbnf: grammar },
  });
  return {
    ...samplingOptions(body),
    raw: true,
    ...(maxTokens > 0 && { maxTokens }),
    ...stopOptions(stop),
    ...(logprobs > 0 && { logprobs }),
    ...(format !== undefined && { format }),
  };
}
