import type { AnswerFormat, GenerateOptions } from "@centella/llm";
import * as z from "zod/mini";
import { tokenLimit } from "../fields/shared.ts";
import { anyObject, schemaField, schemaFormat } from "../generation/format.ts";
import { samplingFields, samplingOptions } from "../generation/sampling.ts";
import { keepAliveField } from "./keepAlive.ts";
import { modelField } from "./modelName.ts";

const { temperature, top_k, top_p, min_p, typical_p, repeat_last_n, repeat_penalty, presence_penalty, frequency_penalty } = samplingFields;
const { mirostat, mirostat_tau, mirostat_eta, seed } = samplingFields;
const ignored = z.optional(z.union([z.number(), z.boolean()]));

/** The field `options`. Those that choose how a model is loaded have no effect: the server has loaded it. */
const optionsField = z.strictObject({
  ...{ temperature, top_k, top_p, min_p, typical_p, repeat_last_n, repeat_penalty, presence_penalty, frequency_penalty },
  ...{ mirostat, mirostat_tau, mirostat_eta, seed },
  /** -1 and -2 are no limit. */
  num_predict: tokenLimit(-2),
  stop: z.optional(z.array(z.string().check(z.minLength(1)))),
  ...{ numa: ignored, num_ctx: ignored, num_batch: ignored, num_gpu: ignored, main_gpu: ignored, low_vram: ignored, f16_kv: ignored },
  ...{ vocab_only: ignored, use_mmap: ignored, use_mlock: ignored, num_thread: ignored, num_keep: ignored, penalize_newline: ignored },
});

const formatField = z.union([z.literal(["json", ""]), schemaField]);
const thinkField = z.union([z.boolean(), z.enum(["low", "medium", "high"])]);

/** Fields that chats and plain generations share. */
export const generationFields = {
  model: modelField,
  keep_alive: keepAliveField,
  stream: z.optional(z.boolean()),
  options: z.optional(optionsField),
  format: z.optional(formatField),
  think: z.optional(thinkField),
  logprobs: z.optional(z.boolean()),
  top_logprobs: z.optional(z.int().check(z.minimum(0), z.maximum(20))),
};

interface GenerationBody {
  readonly options?: z.output<typeof optionsField> | undefined;
  readonly format?: z.output<typeof formatField> | undefined;
  readonly think?: z.output<typeof thinkField> | undefined;
  readonly logprobs?: boolean | undefined;
  readonly top_logprobs?: number | undefined;
}

/** The engine's options that chats and plain generations share. */
export function generationOptions({ options = {}, format, think, logprobs, top_logprobs: top }: GenerationBody): GenerateOptions {
  const { num_predict: maxTokens = -1, stop, ...sampling } = options;
  const answer = formatOf(format);
  return {
    ...samplingOptions(sampling),
    ...(maxTokens > 0 && { maxTokens }),
    ...(stop !== undefined && stop.length > 0 && { stop }),
    ...(answer !== undefined && { format: answer }),
    ...(think === false && { reasoning: { off: true } }),
    ...(typeof think === "string" && { reasoning: { effort: think } }),
    ...((logprobs || top !== undefined) && { logprobs: top ?? 0 }),
  };
}

function formatOf(format: GenerationBody["format"]): AnswerFormat | undefined {
  if (format === undefined || format === "") return undefined;
  return schemaFormat(format === "json" ? anyObject : format);
}
