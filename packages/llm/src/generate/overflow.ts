import type { ChatMessage } from "../chat/chatTemplate.ts";
import { ContextOverflowError } from "../errors.ts";
import { yieldToEventLoop } from "../scheduler/eventLoop.ts";

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

/** Applies the overflow policy to a prompt. @throws {ContextOverflowError} if the prompt leaves no room and the policy cannot shorten it */
export async function fitPrompt(ids: readonly number[], { contextLength, overflow, chat }: Shortening): Promise<FittedPrompt> {
  if (ids.length < contextLength) return { ids, droppedMessages: 0, truncatedTokens: 0 };
  const maxLength = contextLength - overflow.room;
  if (overflow.prompt === "dropTurns" && chat !== undefined) {
    for (const messages of shorterChats(chat.messages)) {
      // Rendering is slow, and there may be many turns.
      await yieldToEventLoop();
      const shorter = await chat.encode(messages);
      if (shorter.length > maxLength) continue;
      return { ids: shorter, droppedMessages: chat.messages.length - messages.length, truncatedTokens: ids.length - shorter.length };
    }
  }
  if (overflow.prompt === "truncateMiddle") {
    const shorter = withoutMiddle(ids, maxLength, overflow.keep);
    return { ids: shorter, droppedMessages: 0, truncatedTokens: ids.length - shorter.length };
  }
  throw new ContextOverflowError(ids.length, contextLength, contextLength - 1);
}

/** The first `keep` ids, or fewer if there is no room for them, and the last ids, `maxLength` in total. */
function withoutMiddle(ids: readonly number[], maxLength: number, keep: number): readonly number[] {
  const head = Math.min(keep, Math.floor(maxLength / 2));
  return [...ids.slice(0, head), ...ids.slice(ids.length - (maxLength - head))];
}

/** The first `keep` ids and the newer half of the remaining ones. */
export function shiftedIds(ids: readonly number[], keep: number): readonly number[] {
  const head = Math.min(keep, Math.floor(ids.length / 2));
  return [...ids.slice(0, head), ...ids.slice(ids.length - Math.floor((ids.length - head) / 2))];
}

/** The chat without its oldest turn, then without its two oldest turns, and so on. A turn begins with a user message. */
function* shorterChats(messages: readonly ChatMessage[]): Iterable<readonly ChatMessage[]> {
  const first = messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  const head = messages.slice(0, Math.max(first, 0));
  for (const [start, { role }] of messages.entries()) {
    if (start > first && role === "user") yield [...head, ...messages.slice(start)];
  }
}
