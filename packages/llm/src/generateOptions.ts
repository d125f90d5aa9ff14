import { ArgumentError } from "@centella/core";
import type { RenderOptions } from "./chatTemplate.ts";
import { checkKeys, wholeNumber } from "./options.ts";
import { defaultDryBreakers } from "./sampling/dryBreakers.ts";
import { type ResolvedSampling, resolveSampling, type SamplingOptions, samplingOptionNames } from "./sampling/options.ts";

/** How a text is generated: the sampling options, and these. */
export interface GenerateOptions extends Omit<SamplingOptions, "dryBreakers"> {
  /** Tokens to generate at most, from 1. Default: until the text ends or the context is full. */
  readonly maxTokens?: number | undefined;
  /** Texts that no repetition reaches across, for DRY. Default: line feed, colon, double quote and asterisk. */
  readonly dryBreakers?: readonly string[] | undefined;
  /** Tell the log probability of each token that is generated, and of this many of the most likely ones at its place. Default: no. */
  readonly logprobs?: number | undefined;
  /** Strings that end the text; they are not part of it. */
  readonly stop?: readonly string[] | undefined;
  /** Aborting rejects the iteration with the signal's reason; the session can go on. */
  readonly signal?: AbortSignal | undefined;
  /** Take a string prompt as text to be continued, not as a turn of the chat. Default: true if the model has no chat template. */
  readonly raw?: boolean | undefined;
  /** What the chat template is given besides the messages. */
  readonly chat?: Omit<RenderOptions, "addGenerationPrompt"> | undefined;
}

/** Checked options. */
export interface ResolvedGeneration {
  readonly sampling: ResolvedSampling;
  readonly dryBreakers: readonly string[];
  readonly logprobs: number | undefined;
  readonly maxTokens: number;
  readonly stop: readonly string[];
  readonly signal: AbortSignal | undefined;
  readonly raw: boolean | undefined;
  readonly chat: Omit<RenderOptions, "addGenerationPrompt">;
}

const ownNames = ["maxTokens", "logprobs", "stop", "signal", "raw", "chat"];
const chatNames = ["tools", "documents", "variables", "now"];

/** @throws {ArgumentError} for an unknown option or a value outside its range */
export function resolveGeneration(options: GenerateOptions): ResolvedGeneration {
  checkKeys("generate", options, [...ownNames, ...samplingOptionNames]);
  const { maxTokens = Number.MAX_SAFE_INTEGER, stop = [], signal, raw, chat = {}, logprobs, dryBreakers, ...sampling } = options;
  if (dryBreakers !== undefined && !(Array.isArray(dryBreakers) && dryBreakers.every((text) => typeof text === "string" && text !== ""))) {
    throw new ArgumentError("dryBreakers", "a list of strings, none of them empty", JSON.stringify(dryBreakers) ?? typeof dryBreakers);
  }
  if (!Array.isArray(stop)) throw new ArgumentError("stop", "a list of strings", typeof stop);
  if (raw !== undefined && typeof raw !== "boolean") throw new ArgumentError("raw", "true or false", String(raw));
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw new ArgumentError("signal", "an AbortSignal", typeof signal);
  checkKeys("generate.chat", chat, chatNames);
  return {
    sampling: resolveSampling(sampling),
    dryBreakers: dryBreakers ?? defaultDryBreakers,
    logprobs: logprobs === undefined ? undefined : wholeNumber("logprobs", logprobs, 0),
    maxTokens: wholeNumber("maxTokens", maxTokens, 1),
    stop,
    signal,
    raw,
    chat,
  };
}
