import type { ChatMessage } from "@centella/react/chat";

/** A message of a conversation. Answers have figures once they are over. */
export type Message = ChatMessage;

/** Messages with all branches: each has the one before it as its parent. */
export interface Branches {
  readonly headId?: string | null;
  readonly messages: { readonly parentId: string | null; readonly message: Message }[];
}

/** The text of a message, without its reasoning. */
export function textOf({ parts }: Message): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The messages from the first one to the head, which is the branch that is shown. */
export function shownMessages({ headId, messages }: Branches): readonly Message[] {
  const byId = new Map(messages.map((item) => [item.message.id, item]));
  const shown: Message[] = [];
  for (let item = byId.get(headId ?? messages.at(-1)?.message.id ?? ""); item !== undefined; item = byId.get(item.parentId ?? "")) {
    shown.unshift(item.message);
  }
  return shown;
}
