import type { GenerateOptions } from "@centella/llm";
import * as z from "zod/mini";
import { alternativesField, placementFields, unusedFields } from "../fields/llamaServer.ts";
import { stopField, stopOptions, tokenLimit } from "../fields/shared.ts";
import { samplingFields, samplingOptions } from "../generation/sampling.ts";
import type { BodyOf, Shape } from "../http/fields.ts";

/** Most texts of one prompt. */
const maxChoices = 128;

/** Fields that chats and plain completions share. */
export const generationFields = {
  model: z.optional(z.string()),
  stream: z.optional(z.boolean()),
  stream_options: z.optional(z.strictObject({ include_usage: z.optional(z.boolean()), include_obfuscation: z.optional(z.boolean()) })),
  max_tokens: tokenLimit(-1),
  n_predict: tokenLimit(-1),
  n: z.optional(z.int().check(z.minimum(1), z.maximum(maxChoices))),
  stop: stopField,
  n_probs: alternativesField,
  return_progress: z.optional(z.boolean()),
  ...placementFields,
  ...samplingFields,
};

/** Fields about the client, which have no effect. */
export const clientFields: Shape = {
  user: z.optional(z.string()),
  service_tier: z.optional(z.string()),
  safety_identifier: z.optional(z.string()),
};

/** Data of the client's own. */
export const metadataField = z.optional(z.record(z.string(), z.unknown()));

/** Fields of both that have no effect. */
export const ignoredFields: Shape = { ...clientFields, ...unusedFields, metadata: metadataField };

type GenerationBody = BodyOf<typeof generationFields>;

/** The engine's options that chats and plain completions share. Of several limits, the least holds. */
export function generationOptions(body: GenerationBody & { readonly max_completion_tokens?: number | undefined }): GenerateOptions {
  const limits = [body.max_completion_tokens, body.max_tokens, body.n_predict].filter((limit) => limit !== undefined && limit > 0);
  return {
    ...samplingOptions(body),
    ...(limits.length > 0 && { maxTokens: Math.min(...(limits as readonly number[])) }),
    ...stopOptions(body.stop),
  };
}
