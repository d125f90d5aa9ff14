export type { EngineModel } from "@centella/llm/engine";
export { type AnswerDefaults, createLanguageModel, type LanguageModelClass, type LanguageModelOptions } from "./createLanguageModel.ts";
export { type PolyfillOptions, polyfill } from "./polyfill.ts";
export type { PromptSession } from "./promptSession.ts";
export type {
  Availability,
  CreateCoreOptions,
  CreateMonitor,
  CreateOptions,
  Expected,
  LanguageModelParams,
  Message,
  MessageContent,
  PromptInput,
  PromptOptions,
  PromptTool,
  SamplingMode,
  SignalOptions,
} from "./types.ts";
