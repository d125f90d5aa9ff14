import type { CacheType } from "@centella/llm";
import { backendOption } from "./backends.ts";
import { choice, number, type OptionSpec } from "./options.ts";

/** Options of every command that loads a model. */
export const modelOptions: {
  readonly backend: OptionSpec<string>;
  readonly context: OptionSpec<number>;
  readonly "cache-type": OptionSpec<CacheType>;
  readonly activations: OptionSpec<"ggml" | "f32">;
  readonly "layers-on-gpu": OptionSpec<number>;
} = {
  backend: backendOption,
  context: number("TOKENS", "context length (default: as trained, at most 4096)", { min: 1, integer: true }),
  "cache-type": choice(["f32", "f16", "q8_0"], "type of the KV cache (default: f16)"),
  activations: choice(["ggml", "f32"], "with quantised weights: round activations as ggml does, or keep them exact"),
  "layers-on-gpu": number("N", "keep the last N layers on the GPU and the rest on the CPU (default: all in one place)", {
    min: 0,
    integer: true,
  }),
};

/** The given ones under the names that `loadModel` has for them. */
export function loadOptions(values: {
  readonly context?: number;
  readonly "cache-type"?: CacheType;
  readonly activations?: "ggml" | "f32";
  readonly "layers-on-gpu"?: number;
}): {
  readonly contextLength?: number;
  readonly cacheType?: CacheType;
  readonly activations?: "ggml" | "f32";
  readonly layersOnGpu?: number;
} {
  return {
    ...(values.context === undefined ? {} : { contextLength: values.context }),
    ...(values["cache-type"] === undefined ? {} : { cacheType: values["cache-type"] }),
    ...(values.activations === undefined ? {} : { activations: values.activations }),
    ...(values["layers-on-gpu"] === undefined ? {} : { layersOnGpu: values["layers-on-gpu"] }),
  };
}
