import type { ChatMessage } from "../chat/chatTemplate.ts";
import { ContextOverflowError } from "../errors.ts";
import { yieldToEventLoop } from "../scheduler/eventLoop.ts";
import type { FittedPrompt, Shortening } from "./overflow.ts";

/** Shortens a prompt that leaves no room in the context. @throws {ContextOverflowError} if the policy cannot shorten it */
export async function shortenPrompt(ids: readonly number[], { contextLength, overflow, chat }: Shortening): Promise<FittedPrompt> {
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

/** The chat without its oldest turn, then without its two oldest turns, and so on. A turn begins with a user message. */
function* shorterChats(messages: readonly ChatMessage[]): Iterable<readonly ChatMessage[]> {
  const first = messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  const head = messages.slice(0, Math.max(first, 0));
  for (const [start, { role }] of messages.entries()) {
    if (start > first && role === "user") yield [...head, ...messages.slice(start)];
  }
}
