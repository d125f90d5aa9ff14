import type { ActivationMode, AdapterOptions, CacheType, LoadModelOptions } from "@centella/llm";
import { backendOption, threadsOption } from "./backends.ts";
import { fileOptions, modelSource } from "./modelFile.ts";
import { choice, grouped, number, numberOr, type OptionSpec, type OptionValues, repeated, text } from "./options.ts";
import { UsageError } from "./usageError.ts";

/** Options of every command that loads a model. */
export const modelOptions: {
  readonly model: OptionSpec<string>;
  readonly "hf-repo": OptionSpec<string>;
  readonly backend: OptionSpec<string>;
  readonly threads: OptionSpec<number>;
  readonly context: OptionSpec<number | "auto">;
  readonly "memory-limit": OptionSpec<number>;
  readonly batch: OptionSpec<number>;
  readonly "runs-in-flight": OptionSpec<number>;
  readonly "cache-type": OptionSpec<CacheType>;
  readonly activations: OptionSpec<ActivationMode>;
  readonly "layers-on-gpu": OptionSpec<number | "auto">;
  readonly draft: OptionSpec<string>;
  readonly "draft-tokens": OptionSpec<number>;
  readonly "draft-min-probability": OptionSpec<number>;
  readonly lora: OptionSpec<readonly AdapterOptions[]>;
} = grouped("Loading", {
  ...fileOptions,
  backend: backendOption,
  threads: threadsOption,
  context: numberOr(
    "auto",
    number("TOKENS", "context length; auto fits it to the memory (default: as trained, at most 4096)", {
      short: "c",
      aliases: ["--ctx-size"],
    }),
  ),
  "memory-limit": number("MIB", "memory for weights and cache with --context auto (default: most of the free memory)"),
  batch: number("TOKENS", "prompt tokens computed at once (default: 2048 or 4096 on GPUs, else 512)", {
    short: "b",
    aliases: ["--batch-size"],
  }),
  "runs-in-flight": number("N", "runs queued on the device at once while generating (default: as the backend prefers)"),
  "cache-type": choice(["f32", "f16", "q8_0"], "type of the KV cache (default: f16)"),
  activations: choice(
    ["ggml", "half", "f32"],
    "rounding of activations: as in ggml, to f16, or none (default: ggml on CPUs, half on GPUs)",
  ),
  "layers-on-gpu": numberOr(
    "auto",
    number("N", "keep the last N layers on the GPU and the rest on the CPU (default: auto, as many as fit)", {
      aliases: ["-ngl", "--gpu-layers", "--n-gpu-layers"],
    }),
  ),
  draft: text(
    "FILE",
    "a smaller model of the same vocabulary or a head for the model, which drafts tokens to verify, or self: the model's own block",
    {
      aliases: ["-md", "--model-draft", "--spec-draft-model"],
    },
  ),
  "draft-tokens": number("N", "tokens to draft at a time (default: 3)", { min: 1, integer: true, aliases: ["--spec-draft-n-max"] }),
  "draft-min-probability": number("P", "end a draft before a token that is less likely than P to the draft model (default: 0)", {
    min: 0,
    max: 1,
    aliases: ["--draft-p-min", "--spec-draft-p-min"],
  }),
  lora: repeated("FILE[:SCALE]", "add a LoRA adapter", adapter),
});

export type ModelValues = OptionValues<typeof modelOptions>;

/** Parses FILE[:SCALE]. A path or URL may contain colons, so only a number after the last one is a scale. */
export function adapter(given: string, name: string): AdapterOptions {
  const [, source, scale] = /^(.+):([-+.\deE]+)$/.exec(given) ?? [];
  if (source === undefined) {
    if (given === "") throw new UsageError(`--${name}: expected FILE or FILE:SCALE, got nothing`);
    return { source: given };
  }
  if (!Number.isFinite(Number(scale))) throw new UsageError(`--${name}: expected a number after the last colon, got ${scale}`);
  return { source, scale: Number(scale) };
}

/** Returns the given options as options of `loadModel`, with the names of stored models resolved. @throws {UsageError} for options that contradict each other */
export async function loadOptions(values: ModelValues): Promise<Omit<LoadModelOptions, "runtime">> {
  const limit = values["memory-limit"];
  if (limit !== undefined && values.context !== "auto")
    throw new UsageError(`--memory-limit: expected --context auto with it, got ${values.context ?? "no --context"}`);
  return {
    ...(values.context !== undefined && { contextLength: values.context }),
    ...(limit !== undefined && { memoryLimit: limit * 2 ** 20 }),
    ...(values.batch !== undefined && { batchSize: values.batch }),
    ...(values["runs-in-flight"] !== undefined && { runsInFlight: values["runs-in-flight"] }),
    ...(values["cache-type"] !== undefined && { cacheType: values["cache-type"] }),
    ...(values.activations !== undefined && { activations: values.activations }),
    ...(values["layers-on-gpu"] !== undefined && { layersOnGpu: values["layers-on-gpu"] }),
    ...(await draftOf(values)),
    ...(values.lora !== undefined && { adapters: values.lora }),
  };
}

/** In place of a draft model's file: the block of the model's own file that predicts further tokens. */
const ownBlock = "self";

async function draftOf({
  draft,
  "draft-tokens": tokens,
  "draft-min-probability": minProbability,
}: ModelValues): Promise<Pick<LoadModelOptions, "draft">> {
  if (draft === ownBlock) return { draft: { tokens, minProbability } };
  if (draft !== undefined) return { draft: { source: await modelSource(draft), tokens, minProbability } };
  const given = tokens === undefined ? "--draft-min-probability" : "--draft-tokens";
  if (tokens !== undefined || minProbability !== undefined) throw new UsageError(`${given}: expected --draft FILE with it, got none`);
  return {};
}
