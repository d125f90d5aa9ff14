export type { AdapterOptions } from "./adapters.ts";
export {
  type ChatMessage,
  ChatTemplate,
  type ChatTemplateSource,
  type PreparedChat,
  type RenderOptions,
  type TextPart,
} from "./chatTemplate.ts";
export type { EmbedInput, EmbedOptions } from "./embed.ts";
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
export type { GenerateOptions } from "./generateOptions.ts";
export type { Commentary, GeneratedText, GenerationFinish, GenerationPart, PrefillProgress, Timings, Usage } from "./generationParts.ts";
export type { LayersOnGpu } from "./layersOnGpu.ts";
export { type LoadModelOptions, type LoadStage, loadModel } from "./loadModel.ts";
export type { Model } from "./model.ts";
export type { ModelInfo, ModelMemory } from "./modelInfo.ts";
export { architectureStatus, supportedArchitectures } from "./models/index.ts";
export type { OverflowPolicy } from "./overflow.ts";
export type { Perplexity, PerplexityOptions, PerplexityProgress } from "./perplexity.ts";
export type { Pooling } from "./pooling.ts";
export type { Gap, Prompt } from "./prompt.ts";
export type { QueueOptions } from "./queueOptions.ts";
export type { ReasoningFormat, ReasoningTags } from "./reasoning.ts";
export type { ActivationMode, CacheType } from "./recording.ts";
export { type Candidates, candidatesOf, probabilities } from "./sampling/candidates.ts";
export type { SamplingPlace } from "./sampling/chain.ts";
export { type ChosenLogprob, logprobsOf, type TokenLogprob } from "./sampling/logprobs.ts";
export { defaultSteps, type ResolvedSampling, resolveSampling, type SamplingOptions, type SamplingStep } from "./sampling/options.ts";
export { Sampler, sampleCandidates, sampleToken } from "./sampling/sampleToken.ts";
export type { RestoreOptions, SaveOptions } from "./savedSession.ts";
export type { Session, SessionOptions } from "./session.ts";
export type { SnapshotKey } from "./snapshotMac.ts";
export { type StopResult, StopStrings } from "./stopStrings.ts";
export { createTokenizer } from "./tokenizer/createTokenizer.ts";
export { preTokenizerNames } from "./tokenizer/otherPreTokenizers.ts";
export { TextStream, type TextStreamOptions } from "./tokenizer/textStream.ts";
export type { DecodeOptions, EncodeAsyncOptions, EncodeOptions, Tokenizer, TokenizerKind } from "./tokenizer/tokenizer.ts";
export type { FillInMiddleIds } from "./tokenizer/tokenKinds.ts";
export type { StringList, VocabularyMetadata } from "./tokenizer/vocabulary.ts";
