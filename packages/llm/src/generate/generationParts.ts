import type { JsonValue } from "@centella/grammar";
import type { ValidationIssue } from "../format/schemaTypes.ts";
import type { ChosenLogprob } from "../sampling/logprobs.ts";
import type { ToolCall } from "../tools/tools.ts";

/**
 * A piece of the answer, of the reasoning before it, or of a message to or about tools. It contains whole characters and no part of a stop
 * string.
 */
export interface GeneratedText {
  readonly type: "text" | "reasoning" | "commentary";
  readonly text: string;
  /** The tool that a commentary is addressed to, if any. */
  readonly recipient?: string;
  /** Tokens since the previous piece. */
  readonly ids: readonly number[];
  /** Log probabilities of `ids`, with the option `logprobs`. */
  readonly logprobs?: readonly ChosenLogprob[];
  /** The value of the answer so far, with the option `partial`. */
  readonly partial?: JsonValue;
}

/** A piece of a call of a tool, with the option `tools`. The pieces of one call follow one another. */
export interface ToolCallPart {
  readonly type: "toolCall";
  /** Identifies the call among all of the conversation. */
  readonly id: string;
  readonly name: string;
  /** Number of the call in this answer, from 0. */
  readonly index: number;
  /** Text to append to the call's arguments, which are JSON as a whole. */
  readonly argumentsDelta: string;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** Tokens since the previous piece. */
  readonly ids: readonly number[];
  /** Log probabilities of `ids`, with the option `logprobs`. */
  readonly logprobs?: readonly ChosenLogprob[];
}

/** The last part of a generation. */
export interface GenerationFinish<Value = unknown> {
  readonly type: "finish";
  /**
   * - "eos": the model ended the text.
   * - "toolCalls": the model ended the text, and called tools in it.
   * - "stop": a stop string ended the text.
   * - "length": `limit` was reached.
   * - "aborted": the signal was aborted, with the option `onAbort: "keep"`.
   */
  readonly reason: "eos" | "toolCalls" | "stop" | "length" | "aborted";
  /** With reason "length". */
  readonly limit?: "maxTokens" | "context";
  /** The stop string, with reason "stop". */
  readonly stop?: string;
  /** The whole text, without the reasoning. */
  readonly text: string;
  /** The reasoning before the answer, if reasoning is separated. */
  readonly reasoning?: string;
  /** Messages to or about tools, if any, unparsed (arguments of calls usually are JSON). */
  readonly commentary?: readonly Commentary[];
  /** Finished calls of tools, if any. */
  readonly toolCalls?: readonly ToolCall[];
  /** All generated tokens, including the one that ended the text. */
  readonly ids: readonly number[];
  /** Log probabilities of `ids`, with the option `logprobs`. */
  readonly logprobs?: readonly ChosenLogprob[];
  /** With the option `format`: whether `text` matches it as a whole and was not cut short. */
  readonly complete?: boolean;
  /** The value of a complete text, for the formats `{ schema }` and "json". A type of a validation library has validated it. */
  readonly value?: Value;
  /** Why the validation library refuses the value, which is absent then. */
  readonly issues?: readonly ValidationIssue[];
  readonly promptIds: readonly number[];
  /** Repeats the generation with the same prompt and options, on the same backend and host. */
  readonly seed: number;
  /**
   * Changes that were made to the messages, such as a system message that became part of a user message, and keywords of a schema that have
   * no effect. Omitted if there are none.
   */
  readonly warnings?: readonly string[];
  readonly usage: Usage;
  readonly timings: Timings;
}

/** A message to a tool, or to the user about the use of tools. */
export interface Commentary {
  readonly recipient?: string;
  readonly text: string;
}

/** Progress of the prompt, with the option `progress`: before the first run and after each run. */
export interface PrefillProgress {
  readonly type: "prefill";
  /** Prompt tokens that are in the cache. */
  readonly done: number;
  readonly total: number;
}

/** A part of a generation: text, a piece of a call, progress of the prompt, or the finish. */
export type GenerationPart<Value = unknown> = GeneratedText | ToolCallPart | PrefillProgress | GenerationFinish<Value>;

/** Token counts of a generation. */
export interface Usage {
  readonly promptTokens: number;
  /** Prompt tokens that were taken from the cache. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Tokens that the {@link OverflowPolicy} dropped, from the prompt and while generating. */
  readonly truncatedTokens: number;
  /** Messages that the {@link OverflowPolicy} dropped. */
  readonly droppedMessages: number;
  /** Tokens that a format forces, that `promptLookup` found or that a draft model proposed, and how many of them were accepted. */
  readonly draftedTokens: number;
  readonly acceptedTokens: number;
}

/** Times of a generation, excluding the consumer's time between parts. Rates are 0 if nothing was computed. */
export interface Timings {
  /** Computing the prompt's uncached tokens. */
  readonly promptMs: number;
  /** Computing and choosing all tokens but the first. */
  readonly decodeMs: number;
  /** From the start of the iteration to the first token, including tokenization and the time in the queue. */
  readonly timeToFirstTokenMs: number;
  readonly promptTokensPerSecond: number;
  readonly decodeTokensPerSecond: number;
}
