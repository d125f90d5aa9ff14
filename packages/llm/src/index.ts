export { GrammarError, type GrammarErrorCode, type GrammarErrorPlace } from "@centella/grammar/errors";
export type { CacheUsage } from "./cache/cacheUsage.ts";
export type { RestoreOptions, SaveOptions } from "./cache/saveOptions.ts";
export { snapshotAdapters, snapshotTokens } from "./cache/snapshot.ts";
export type { SnapshotKey } from "./cache/snapshotMac.ts";
export type { RenderOptions } from "./chat/chatOptions.ts";
export { type ChatMessage, ChatTemplate, type ChatTemplateSource, type PreparedChat, type TextPart } from "./chat/chatTemplate.ts";
export type { ReasoningFormat, ReasoningTags } from "./chat/reasoning.ts";
export type { ReasoningControl } from "./chat/reasoningControl.ts";
export {
  BusyError,
  ChatTemplateError,
  ContextOverflowError,
  LlmError,
  ModelError,
  SamplingError,
  SnapshotError,
  TokenizerError,
  UnsupportedArchitectureError,
} from "./errors.ts";
export type { AnswerFormat } from "./format/answerFormat.ts";
export type { FormatValue, SchemaValue, StandardSchema, ValidationIssue, ValidationResult } from "./format/schemaTypes.ts";
export type { DiffusionOptions } from "./generate/diffusionOptions.ts";
export type { GenerateOptions, ReasoningOptions, RunOptions } from "./generate/generateOptions.ts";
export type {
  Commentary,
  GeneratedText,
  GenerationFinish,
  GenerationPart,
  PrefillProgress,
  Timings,
  ToolCallPart,
  Usage,
} from "./generate/generationParts.ts";
export type { OverflowPolicy } from "./generate/overflow.ts";
export type { Gap, GapFile, Prompt } from "./generate/promptInput.ts";
export type { Session } from "./generate/session.ts";
export type { SessionOptions } from "./generate/sessionOptions.ts";
export { type StopResult, StopStrings } from "./generate/stopStrings.ts";
export type { AdapterScales } from "./load/adapterScales.ts";
export type { AdapterOptions } from "./load/adapters.ts";
export type { LayersOnGpu } from "./load/layersOnGpu.ts";
export { loadModel } from "./load/loadModel.ts";
export type { DraftOptions, LoadModelOptions, LoadStage } from "./load/loadOptions.ts";
export type { EmbedInput } from "./model/embed.ts";
export type {
  CallOptions,
  EmbedOptions,
  PerplexityOptions,
  PerplexityProgress,
  RankedDocument,
  Ranking,
  RerankOptions,
} from "./model/measureOptions.ts";
export type { Model } from "./model/model.ts";
export type { ActivationMode, CacheType } from "./model/modelBuilder.ts";
export type { ModelInfo, ModelMemory, ModelTask } from "./model/modelInfo.ts";
export type { Perplexity } from "./model/perplexity.ts";
export type { Pooling } from "./model/pooling.ts";
export { architectureStatus, draftArchitectures, refusedArchitectures, supportedArchitectures } from "./models/index.ts";
export { type Candidates, candidatesOf, probabilities } from "./sampling/candidates.ts";
export { type ChosenLogprob, logprobsOf, type TokenLogprob } from "./sampling/logprobs.ts";
export { defaultSteps, type ResolvedSampling, resolveSampling, type SamplingOptions, type SamplingStep } from "./sampling/options.ts";
export { Sampler, sampleCandidates, sampleToken } from "./sampling/sampleToken.ts";
export type { SamplingPlace } from "./sampling/samplingChain.ts";
export type { QueueOptions } from "./scheduler/queueOptions.ts";
export { createTokenizer } from "./tokenizer/createTokenizer.ts";
export { preTokenizerNames } from "./tokenizer/regexPreTokenizers.ts";
export { TextStream, type TextStreamOptions } from "./tokenizer/textStream.ts";
export type { DecodeOptions, EncodeAsyncOptions, EncodeOptions, Tokenizer, TokenizerKind } from "./tokenizer/tokenizer.ts";
export type { FillInMiddleIds } from "./tokenizer/tokenKinds.ts";
export type { StringList, VocabularyMetadata } from "./tokenizer/vocabulary.ts";
export { type ToolDefinition, tool } from "./tools/defineTool.ts";
export type { ToolFormatName } from "./tools/formats/namedFormats.ts";
export type {
  ArgumentSyntax,
  CallSyntax,
  JsonSyntax,
  NotationSyntax,
  Pieces,
  Slot,
  TaggedSyntax,
  TemplateSupport,
  ToolFormat,
  ValueType,
} from "./tools/formats/toolFormat.ts";
export type { RunPart, ToolResultPart } from "./tools/runTools.ts";
export type { Tool, ToolCall, ToolChoice, ToolContext, ToolOptions } from "./tools/tools.ts";
