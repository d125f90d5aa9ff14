import type { GenerateOptions, GenerationPart, Model, Prompt, RestoreOptions, SaveOptions, SessionOptions } from "@centella/llm";

/** What the server needs of a session. */
export interface EngineSession {
  generate(prompt: Prompt, options: GenerateOptions): AsyncGenerator<GenerationPart, void, undefined>;
  save(options?: SaveOptions): Promise<Uint8Array>;
  reset(): void;
  dispose(): void;
}

/** What the server needs of a model. `Model` of `@centella/llm` is one, and so is what `groupEngines` returns. */
export interface Engine extends Pick<Model, "info" | "tokenizer" | "chatTemplate" | "cacheUsage" | "embed" | "rerank" | "dispose"> {
  createSession(options?: Pick<SessionOptions, "adapters">): EngineSession;
  restoreSession(bytes: Uint8Array, options?: RestoreOptions): Promise<EngineSession>;
}
