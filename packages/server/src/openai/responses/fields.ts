import type { AnswerFormat, GenerateOptions, ReasoningOptions } from "@centella/llm";
import * as z from "zod/mini";
import { alternativesField, logprobsOption, placementFields, unusedFields } from "../../fields/llamaServer.ts";
import { anyObject, schemaField, schemaFormat } from "../../generation/format.ts";
import { samplingFields, samplingOptions } from "../../generation/sampling.ts";
import type { BodyOf, FieldTable, Shape } from "../../http/fields.ts";
import { clientFields, metadataField } from "../generationFields.ts";
import { responseToolFields, responseToolOptions } from "../tools.ts";
import { inputField } from "./input.ts";

const used = {
  model: z.optional(z.string()),
  input: inputField,
  instructions: z.optional(z.string()),
  stream: z.optional(z.boolean()),
  max_output_tokens: z.optional(z.int().check(z.minimum(1))),
  top_logprobs: z.optional(z.int().check(z.minimum(0), z.maximum(20))),
  n_probs: alternativesField,
  /** "message.output_text.logprobs" asks for log probabilities. Others have no effect. */
  include: z.optional(z.array(z.string())),
  /** The response has it, too. */
  metadata: metadataField,
  ...responseToolFields,
  text: z.optional(
    z.strictObject({
      format: z.optional(
        z.discriminatedUnion("type", [
          z.strictObject({ type: z.literal("text") }),
          z.strictObject({ type: z.literal("json_object") }),
          z.strictObject({
            type: z.literal("json_schema"),
            name: z.optional(z.string()),
            description: z.nullish(z.string()),
            schema: schemaField,
            strict: z.nullish(z.boolean()),
          }),
        ]),
      ),
      verbosity: z.nullish(z.string()),
    }),
  ),
  reasoning: z.optional(
    z.strictObject({ effort: z.nullish(z.string()), summary: z.nullish(z.string()), generate_summary: z.nullish(z.string()) }),
  ),
  /** "auto" drops the oldest turns of a conversation that is too long. */
  truncation: z.optional(z.enum(["auto", "disabled"])),
  ...placementFields,
  ...samplingFields,
};

const ignored: Shape = {
  ...clientFields,
  ...unusedFields,
  prompt_cache_key: z.optional(z.string()),
  prompt_cache_retention: z.optional(z.string()),
  max_tool_calls: z.optional(z.int()),
  stream_options: z.optional(z.record(z.string(), z.unknown())),
  store: z.optional(z.literal(false, { error: "expected false, got true; responses are not stored" })),
  background: z.optional(z.literal(false, { error: "expected false, got true; responses are not stored" })),
};

/** Fields of a response. */
export const responseFields: FieldTable<typeof used> = {
  used,
  ignored,
  refused: {
    previous_response_id: "responses are not stored; send the whole input",
    conversation: "conversations are not stored; send the whole input",
    prompt: "prompts are not stored; send the whole input",
  },
};

export type ResponseBody = BodyOf<typeof used>;

/** The engine's options for a response. */
export function responseOptions(body: ResponseBody): GenerateOptions {
  const { max_output_tokens: maxTokens, top_logprobs: top, n_probs: probs } = body;
  const isWanted = body.include?.includes("message.output_text.logprobs");
  const [format, reasoning] = [formatOf(body), reasoningOf(body)];
  return {
    ...samplingOptions(body),
    ...responseToolOptions(body),
    ...(maxTokens !== undefined && { maxTokens }),
    ...logprobsOption({ own: ["top_logprobs", top], probs, isWanted }),
    ...(format !== undefined && { format }),
    ...(reasoning !== undefined && { reasoning }),
    ...(body.truncation === "auto" && { overflow: { prompt: "dropTurns" } }),
  };
}

function formatOf({ text: { format } = {} }: ResponseBody): AnswerFormat | undefined {
  if (format === undefined || format.type === "text") return undefined;
  return schemaFormat(format.type === "json_schema" ? format.schema : anyObject);
}

function reasoningOf({ reasoning: { effort } = {} }: ResponseBody): ReasoningOptions | undefined {
  if (effort == null) return undefined;
  return effort === "none" ? { off: true } : { effort };
}
