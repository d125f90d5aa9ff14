import type { ChosenLogprob } from "../sampling/logprobs.ts";

/**
 * A piece of the answer, of what the model thinks before it, or of what it says to tools or about using them: whole characters, certainly no
 * part of a stop string.
 */
export interface GeneratedText {
  readonly type: "text" | "reasoning" | "commentary";
  readonly text: string;
  /** The tool that a commentary is for, if it is for one. */
  readonly recipient?: string;
  /** Tokens since the piece before. */
  readonly ids: readonly number[];
  /** Of the tokens of `ids`, with the option `logprobs`. */
  readonly logprobs?: readonly ChosenLogprob[];
}

/** The last part of a generation. */
export interface GenerationFinish {
  readonly type: "finish";
  /**
   * "eos": the model ended its text; "stop": a stop string did; "length": `limit` was reached; "aborted": the signal was aborted, with the option
   * `onAbort: "keep"`.
   */
  readonly reason: "eos" | "stop" | "length" | "aborted";
  /** With reason "length". */
  readonly limit?: "maxTokens" | "context";
  /** The stop string, with reason "stop". */
  readonly stop?: string;
  /** The whole text, without the reasoning. */
  readonly text: string;
  /** What the model thought before it, where its parts are told apart. */
  readonly reasoning?: string;
  /** What it said to tools, or about using them, where it did: a message for each, as it is written (arguments of calls are JSON mostly). */
  readonly commentary?: readonly Commentary[];
  /** Every token that was generated, the one that ended the text included. */
  readonly ids: readonly number[];
  /** Of the tokens of `ids`, with the option `logprobs`. */
  readonly logprobs?: readonly ChosenLogprob[];
  readonly promptIds: readonly number[];
  /** Repeats the generation with the same prompt and options, on the same backend and host. */
  readonly seed: number;
  /** What was done differently from what the messages say: a system message may have become part of a user message. Left out where nothing was. */
  readonly warnings?: readonly string[];
  readonly usage: Usage;
  readonly timings: Timings;
}

/** A message to a tool, or to the user about what will be done with tools. */
export interface Commentary {
  readonly recipient?: string;
  readonly text: string;
}

/** How far the prompt is computed, with the option `progress`: once before the first run and after each. */
export interface PrefillProgress {
  readonly type: "prefill";
  /** Prompt tokens that are in the cache. */
  readonly done: number;
  readonly total: number;
}

/** What a generation yields: text as it grows, progress of the prompt, and the end. */
export type GenerationPart = GeneratedText | PrefillProgress | GenerationFinish;

/** Tokens of a generation. */
export interface Usage {
  readonly promptTokens: number;
  /** Prompt tokens that were still in the cache and were not computed again. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Tokens that an {@link OverflowPolicy} left out, of the prompt and while generating. */
  readonly truncatedTokens: number;
  /** Messages of the chat that it left out. */
  readonly droppedMessages: number;
  /** Tokens that were guessed, with the option `promptLookup`, and those of them that came true. */
  readonly draftedTokens: number;
  readonly acceptedTokens: number;
}

/** Times of a generation, without the time that the consumer took between parts. Rates are 0 where nothing was computed. */
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
