import * as z from "zod/mini";
import { ApiError } from "../errors.ts";
import type { AnswerRequest } from "../generation/answer.ts";
import type { BodyOf, Shape } from "../http/fields.ts";
import { numberedScales } from "../models/adapterList.ts";

/** Fields of llama-server that every API with texts has, besides the options for sampling. */
export const placementFields = {
  /** Lower numbers run first. */
  priority: z.optional(z.number()),
  /** Number of the slot whose computed tokens the text continues. -1 is any. */
  id_slot: z.optional(z.int().check(z.minimum(-1))),
  /** Adapters, in the place of those that the model's name stands for. */
  lora: z.optional(numberedScales),
  /** Milliseconds after which a text ends, once it has a line. Numbers below 1 are no limit. */
  t_max_predict_ms: z.optional(z.number()),
};

/** How {@link placementFields} are answered. */
export function placementOf({
  priority,
  id_slot: slot,
  lora,
  t_max_predict_ms: textMs = 0,
}: BodyOf<typeof placementFields>): Pick<AnswerRequest, "priority" | "slot" | "lora" | "textMs"> {
  return { priority, slot, lora, ...(textMs > 0 && { textMs }) };
}

/** Fields of llama-server that have no effect in this server. */
export const unusedFields: Shape = {
  // Computed prefixes are always shared.
  cache_prompt: z.optional(z.boolean()),
  n_cache_reuse: z.optional(z.int()),
  // Texts end with the context, which is never shifted.
  n_keep: z.optional(z.int()),
  n_discard: z.optional(z.int()),
  // Steps always keep a token.
  min_keep: z.optional(
    z.literal([0, 1], { error: ({ input }) => `expected 0 or 1, got ${JSON.stringify(input)}; steps keep one token at least` }),
  ),
  post_sampling_probs: z.optional(
    z.literal(false, { error: ({ input }) => `expected false, got ${JSON.stringify(input)}; probabilities are those before sampling` }),
  ),
  // The end of a text has its times.
  timings_per_token: z.optional(z.boolean()),
  backend_sampling: z.optional(z.boolean()),
  t_max_prompt_ms: z.optional(z.number()),
  n_indent: z.optional(z.int()),
};

/** Number of alternatives for each token. */
export const alternativesField: z.ZodMiniOptional<z.ZodMiniNumber> = z.optional(z.int().check(z.minimum(0), z.maximum(100)));

/** How a request asks for log probabilities. */
interface LogprobsRequest {
  /** Name and value of the API's own field for the number of alternatives. */
  readonly own: readonly [name: string, alternatives: number | undefined];
  /** The field `n_probs`, of which 0 is none. */
  readonly probs: number | undefined;
  /** Whether the chosen tokens are enough. Default false. */
  readonly isWanted?: boolean | undefined;
}

/** The engine's option for log probabilities. @throws {ApiError} 400 for two numbers */
export function logprobsOption({ own: [name, own], probs, isWanted = false }: LogprobsRequest): { readonly logprobs?: number } {
  if (own !== undefined && probs !== undefined)
    throw new ApiError(400, "invalid_value", `n_probs: expected either n_probs or ${name}, got both; leave one out`, { param: "n_probs" });
  const logprobs = own ?? (probs || (isWanted ? 0 : undefined));
  return logprobs === undefined ? {} : { logprobs };
}
