import type { GenerateOptions } from "@centella/llm";
import * as z from "zod/mini";
import { samplingFields, samplingOptions } from "../generation/sampling.ts";
import type { BodyOf, Shape } from "../http/fields.ts";
import { numberedScales } from "../models/adapterList.ts";

/** Number of a slot of llama-server's API. -1 is any. */
export const slotField: z.ZodMiniOptional<z.ZodMiniNumber> = z.optional(z.int().check(z.minimum(-1)));

/** Most texts of one prompt. */
const maxChoices = 128;

/** Fields that chats and plain completions share. */
export const generationFields = {
  model: z.optional(z.string()),
  stream: z.optional(z.boolean()),
  stream_options: z.optional(z.strictObject({ include_usage: z.optional(z.boolean()), include_obfuscation: z.optional(z.boolean()) })),
  /** -1 is no limit. */
  max_tokens: z.optional(
    z.int().check(
      z.minimum(-1),
      z.refine((value) => value !== 0, { error: "expected at least 1, got 0" }),
    ),
  ),
  n_predict: z.optional(
    z.int().check(
      z.minimum(-1),
      z.refine((value) => value !== 0, { error: "expected at least 1, got 0" }),
    ),
  ),
  n: z.optional(z.int().check(z.minimum(1), z.maximum(maxChoices))),
  stop: z.optional(z.union([z.string().check(z.minLength(1)), z.array(z.string().check(z.minLength(1)))])),
  priority: z.optional(z.number()),
  /** Number of the slot whose computed tokens the text continues. -1 is any. */
  id_slot: slotField,
  /** Adapters of llama-server's API, in the place of those that the model's name stands for. */
  lora: z.optional(numberedScales),
  return_progress: z.optional(z.boolean()),
  ...samplingFields,
};

/** Fields about the client, which have no effect. */
export const clientFields: Shape = {
  user: z.optional(z.string()),
  metadata: z.optional(z.record(z.string(), z.unknown())),
  service_tier: z.optional(z.string()),
  safety_identifier: z.optional(z.string()),
};

/** Fields of both that have no effect: prefixes are always shared. */
export const ignoredFields: Shape = { ...clientFields, cache_prompt: z.optional(z.boolean()) };

type GenerationBody = BodyOf<typeof generationFields>;

/** The engine's options that chats and plain completions share. */
export function generationOptions(body: GenerationBody & { readonly max_completion_tokens?: number | undefined }): GenerateOptions {
  const { stop } = body;
  const maxTokens = body.max_completion_tokens ?? body.max_tokens ?? body.n_predict ?? -1;
  return {
    ...samplingOptions(body),
    ...(maxTokens > 0 && { maxTokens }),
    ...(stop !== undefined && { stop: typeof stop === "string" ? [stop] : stop }),
  };
}
