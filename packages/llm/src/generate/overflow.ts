import type { ChatMessage } from "../chat/chatTemplate.ts";

/** What happens if the context is too small. By default nothing is dropped; the finish's `usage` reports what a policy dropped. */
export interface OverflowPolicy {
  /**
   * A prompt that leaves no room in the context:
   * - "error" (the default) refuses it before anything is computed.
   * - "dropTurns" drops the oldest turns of the chat, but never its leading system messages or its last turn.
   * - "truncateMiddle" drops ids between the first `keep` ones and the end of the prompt.
   */
  readonly prompt?: "error" | "dropTurns" | "truncateMiddle" | undefined;
  /**
   * A text that fills the context:
   * - "stop" (the default) ends it with `limit: "context"`.
   * - "error" rejects the iteration.
   * - "shift" drops the older half of the ids after the first `keep` ones, computes the newer half again and continues.
   */
  readonly generation?: "stop" | "error" | "shift" | undefined;
  /** Ids at the beginning that "truncateMiddle" and "shift" never drop. Default: a quarter of the context. */
  readonly keep?: number | undefined;
  /** Tokens of room that a shortened prompt leaves for the answer. Default: `maxTokens`, but at most a quarter of the context. */
  readonly room?: number | undefined;
}

/** A policy with its defaults for one generation. */
export interface ResolvedOverflow {
  readonly prompt: "error" | "dropTurns" | "truncateMiddle";
  readonly generation: "stop" | "error" | "shift";
  readonly keep: number;
  readonly room: number;
}

/** A prompt that leaves room for a text, and what was dropped from it. */
export interface FittedPrompt {
  readonly ids: readonly number[];
  readonly droppedMessages: number;
  readonly truncatedTokens: number;
}

/** How to shorten a prompt. */
export interface Shortening {
  readonly contextLength: number;
  readonly overflow: ResolvedOverflow;
  /** The chat that the prompt was rendered from. */
  readonly chat?: {
    readonly messages: readonly ChatMessage[];
    /** Renders and encodes a shorter chat. */
    readonly encode: (messages: readonly ChatMessage[]) => Promise<readonly number[]>;
  };
}

/** The first `keep` ids and the newer half of the remaining ones. */
export function shiftedIds(ids: readonly number[], keep: number): readonly number[] {
  const head = Math.min(keep, Math.floor(ids.length / 2));
  return [...ids.slice(0, head), ...ids.slice(ids.length - Math.floor((ids.length - head) / 2))];
}
