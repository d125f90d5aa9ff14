import type { ChatMessage } from "../chat/chatTemplate.ts";
import { ContextOverflowError } from "../errors.ts";
import { yieldToEventLoop } from "../scheduler/eventLoop.ts";

/**
 * What happens where the context is too small; nothing is ever left out unasked, and what is left out is told in the finish's
 * `usage`.
 */
export interface OverflowPolicy {
  /**
   * A prompt that leaves no room: "error" (the default) refuses it before anything is computed; "dropTurns" leaves out the oldest turns
   * of the chat, but never its leading system messages nor its last turn; "truncateMiddle" leaves out ids between the first `keep`
   * and the end.
   */
  readonly prompt?: "error" | "dropTurns" | "truncateMiddle" | undefined;
  /**
   * A text that fills the context: "stop" (the default) ends it with `limit: "context"`; "error" rejects the iteration; "shift" leaves
   * out the older half of what comes after the first `keep` ids, computes the rest again and goes on.
   */
  readonly generation?: "stop" | "error" | "shift" | undefined;
  /** Ids at the beginning that are never left out, for "truncateMiddle" and "shift". Default: a quarter of the context. */
  readonly keep?: number | undefined;
  /** Tokens of room that a shortened prompt leaves. Default: `maxTokens`, but at most a quarter of the context. */
  readonly room?: number | undefined;
}

/** A policy with its defaults for one generation. */
export interface ResolvedOverflow {
  readonly prompt: "error" | "dropTurns" | "truncateMiddle";
  readonly generation: "stop" | "error" | "shift";
  readonly keep: number;
  readonly room: number;
}

/** A prompt that leaves room, and what it cost. */
export interface FittedPrompt {
  readonly ids: readonly number[];
  readonly droppedMessages: number;
  readonly truncatedTokens: number;
}

/** How a prompt is made shorter. */
export interface Shortening {
  readonly contextLength: number;
  readonly overflow: ResolvedOverflow;
  /** The chat that the prompt was made of, and how a shorter one is made into ids. */
  readonly chat?: {
    readonly messages: readonly ChatMessage[];
    readonly encode: (messages: readonly ChatMessage[]) => Promise<readonly number[]>;
  };
}

/** @throws {ContextOverflowError} if the prompt leaves no room for a token and the policy does not help */
export async function fitPrompt(ids: readonly number[], { contextLength, overflow, chat }: Shortening): Promise<FittedPrompt> {
  if (ids.length < contextLength) return { ids, droppedMessages: 0, truncatedTokens: 0 };
  const most = contextLength - overflow.room;
  if (overflow.prompt === "dropTurns" && chat !== undefined) {
    for (const messages of shorterChats(chat.messages)) {
      // Rendering takes a while, and there may be many turns.
      await yieldToEventLoop();
      const shorter = await chat.encode(messages);
      if (shorter.length > most) continue;
      return { ids: shorter, droppedMessages: chat.messages.length - messages.length, truncatedTokens: ids.length - shorter.length };
    }
  }
  if (overflow.prompt === "truncateMiddle") {
    const shorter = withoutMiddle(ids, most, overflow.keep);
    return { ids: shorter, droppedMessages: 0, truncatedTokens: ids.length - shorter.length };
  }
  throw new ContextOverflowError(ids.length, contextLength, contextLength - 1);
}

/** The first `keep` ids (fewer if there is no room for them) and as many of the last ones as make `most`. */
function withoutMiddle(ids: readonly number[], most: number, keep: number): readonly number[] {
  const head = Math.min(keep, Math.floor(most / 2));
  return [...ids.slice(0, head), ...ids.slice(ids.length - (most - head))];
}

/** The first `keep` ids and the newer half of the others. */
export function shiftedIds(ids: readonly number[], keep: number): readonly number[] {
  const head = Math.min(keep, Math.floor(ids.length / 2));
  return [...ids.slice(0, head), ...ids.slice(ids.length - Math.floor((ids.length - head) / 2))];
}

/** The chat without its oldest turn, without the two oldest, and so on; a turn begins with what the user says. */
function* shorterChats(messages: readonly ChatMessage[]): Iterable<readonly ChatMessage[]> {
  const first = messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  const head = messages.slice(0, Math.max(first, 0));
  for (let start = first + 1; start < messages.length; start++) {
    if (messages[start]!.role === "user") yield [...head, ...messages.slice(start)];
  }
}
