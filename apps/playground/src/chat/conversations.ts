import { del, entries, get, set } from "idb-keyval";
import { keptStore } from "./kept.ts";
import { type Branches, shownMessages, textOf } from "./messages.ts";

/** A conversation as this browser keeps it. */
export interface Conversation {
  readonly id: string;
  readonly title: string;
  readonly updatedAt: number;
  readonly branches: Branches;
}

const withStore = keptStore("centella-conversations", "conversations");

/** All conversations, the latest first; none where the browser keeps nothing. */
export async function listConversations(): Promise<readonly Conversation[]> {
  const all = await withStore((store) => entries<string, Conversation>(store)).catch(() => []);
  return all.map(([, conversation]) => conversation).sort((a, b) => b.updatedAt - a.updatedAt);
}

export async function readConversation(id: string): Promise<Conversation | undefined> {
  return withStore((store) => get<Conversation>(id, store)).catch(() => undefined);
}

/** Keeps a conversation. Its title is the beginning of its first message. */
export async function writeConversation(id: string, branches: Branches): Promise<void> {
  const first = shownMessages(branches)[0];
  if (first === undefined) return;
  const conversation: Conversation = { id, title: textOf(first).slice(0, 60), updatedAt: Date.now(), branches };
  await withStore((store) => set(id, conversation, store)).catch(() => undefined);
}

export async function removeConversation(id: string): Promise<void> {
  await withStore((store) => del(id, store)).catch(() => undefined);
}
