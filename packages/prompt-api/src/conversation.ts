import type { ChatMessage } from "@centella/llm";

/** The messages of a session. */
export interface Conversation {
  /** The initial messages, which are never dropped. */
  readonly kept: readonly ChatMessage[];
  /** Later messages, of which the oldest may be dropped. */
  readonly turns: readonly ChatMessage[];
}

/** All messages in the form that chat templates take: neighbours of one role are one message. */
export function rendered({ kept, turns }: Conversation): readonly ChatMessage[] {
  const messages: ChatMessage[] = [];
  for (const message of [...kept, ...turns]) {
    const last = messages.at(-1);
    if (last !== undefined && isPlain(last) && isPlain(message) && last.role === message.role)
      messages[messages.length - 1] = { ...last, ...message, content: joined(last, message) };
    else messages.push(message);
  }
  return messages;
}

/** The conversation with more messages. A system message at its beginning is kept like the initial ones. */
export function withMessages({ kept, turns }: Conversation, added: readonly ChatMessage[]): Conversation {
  if (added[0]?.role !== "system") return { kept, turns: [...turns, ...added] };
  return { kept: added.slice(0, 1), turns: added.slice(1) };
}

/** The conversation without its oldest turn: messages up to the next one of the user. Undefined if no turn is left. */
export function withoutOldestTurn({ kept, turns }: Conversation): Conversation | undefined {
  if (turns.length === 0) return undefined;
  const next = turns.findIndex(({ role }, i) => role === "user" && i > 0 && turns[i - 1]?.role !== "user");
  return { kept, turns: next < 0 ? [] : turns.slice(next) };
}

/** Whether an old turn was answered, so that it can be dropped before the context is full. */
export function hasAnswer({ turns }: Conversation): boolean {
  return turns.some(({ role }) => role === "assistant");
}

export function isEmpty({ kept, turns }: Conversation): boolean {
  return kept.length === 0 && turns.length === 0;
}

/** Whether a message is text alone, without calls of tools. */
function isPlain({ role, tool_calls: calls }: ChatMessage): boolean {
  return role !== "tool" && calls === undefined;
}

/** Messages that {@link readInput} and the engine write have strings as their content. */
function joined(a: ChatMessage, b: ChatMessage): string {
  return [a.content, b.content].filter((text) => text !== "").join("\n\n");
}
