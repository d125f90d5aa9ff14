import type { AdapterOptions, CacheType, LoadModelOptions } from "@centella/llm";
import { backendOption, threadsOption } from "./backends.ts";
import { choice, number, numberOr, type OptionSpec, repeated } from "./options.ts";
import { UsageError } from "./usageError.ts";

/** Options of every command that loads a model. */
export const modelOptions: {
  readonly backend: OptionSpec<string>;
  readonly threads: OptionSpec<number>;
  readonly context: OptionSpec<number | "auto">;
  readonly "memory-limit": OptionSpec<number>;
  readonly batch: OptionSpec<number>;
  readonly "cache-type": OptionSpec<CacheType>;
  readonly activations: OptionSpec<"ggml" | "f32">;
  readonly "layers-on-gpu": OptionSpec<number>;
  readonly lora: OptionSpec<readonly AdapterOptions[]>;
} = {
  backend: backendOption,
  threads: threadsOption,
  context: numberOr(
    "auto",
    number("TOKENS", "context length, auto fits it to the memory (default: as trained, at most 4096)", { min: 1, integer: true }),
  ),
  "memory-limit": number("MIB", "what weights and cache may take with --context auto (default: most of what is free)", { min: 1 }),
  batch: number("TOKENS", "tokens of a prompt that are computed at once (default: 512)", { min: 1, integer: true }),
  "cache-type": choice(["f32", "f16", "q8_0"], "type of the KV cache (default: f16)"),
  activations: choice(["ggml", "f32"], "with quantised weights: round activations as ggml does, or keep them exact"),
  "layers-on-gpu": number("N", "keep the last N layers on the GPU and the rest on the CPU (default: all in one place)", {
    min: 0,
    integer: true,
  }),
  lora: repeated("FILE[:SCALE]", "add a LoRA adapter", adapter),
};

/** A path or URL may have colons itself: the last one counts if a number follows. */
function adapter(given: string, name: string): AdapterOptions {
  const [, source, scale] = /^(.+):([-+.\deE]+)$/.exec(given) ?? [];
  if (source === undefined) {
    if (given === "") throw new UsageError(`--${name}: expected FILE or FILE:SCALE, got nothing`);
    return { source: given };
  }
  if (!Number.isFinite(Number(scale))) throw new UsageError(`--${name}: expected a number behind the last colon, got ${scale}`);
  return { source, scale: Number(scale) };
}

/** The given ones under the names that `loadModel` has for them. @throws {UsageError} for options that make no sense together */
export function loadOptions(values: {
  readonly context?: number | "auto";
  readonly "memory-limit"?: number;
  readonly batch?: number;
  readonly "cache-type"?: CacheType;
  readonly activations?: "ggml" | "f32";
  readonly "layers-on-gpu"?: number;
  readonly lora?: readonly AdapterOptions[];
}): Omit<LoadModelOptions, "runtime"> {
  const limit = values["memory-limit"];
  if (limit !== undefined && values.context !== "auto")
    throw new UsageError("--memory-limit: expected --context auto beside it; a given context takes what it takes");
  return {
    ...(values.context !== undefined && { contextLength: values.context }),
    ...(limit !== undefined && { memoryLimit: limit * 2 ** 20 }),
    ...(values.batch !== undefined && { batchSize: values.batch }),
    ...(values["cache-type"] !== undefined && { cacheType: values["cache-type"] }),
    ...(values.activations !== undefined && { activations: values.activations }),
    ...(values["layers-on-gpu"] !== undefined && { layersOnGpu: values["layers-on-gpu"] }),
    ...(values.lora !== undefined && { adapters: values.lora }),
  };
}
