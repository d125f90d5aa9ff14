import type { ReactElement } from "react";
import { text } from "../text/english.ts";
import { Button } from "../ui/controls.tsx";
import type { Conversation } from "./conversations.ts";

interface ConversationListProps {
  readonly current: string;
  readonly conversations: readonly Conversation[];
  readonly onOpen: (id: string | undefined) => void;
  readonly onRemove: (id: string) => void;
}

/** The conversations that this browser keeps. */
export function ConversationList({ current, conversations, onOpen, onRemove }: ConversationListProps): ReactElement {
  return (
    <section className="space-y-2">
      <h2 className="text-sm font-semibold">{text.chat.conversations}</h2>
      <Button className="w-full" onClick={() => onOpen(undefined)}>
        {text.chat.newConversation}
      </Button>
      <ul className="space-y-0.5">
        {conversations.map(({ id, title }) => (
          <li key={id} className="flex items-center">
            <button
              type="button"
              aria-current={id === current ? "true" : undefined}
              onClick={() => onOpen(id)}
              className="min-w-0 flex-1 truncate rounded-lg px-2 py-1.5 text-left text-sm text-muted hover:bg-sunken aria-[current]:font-medium aria-[current]:text-ink"
            >
              {title}
            </button>
            <button
              type="button"
              aria-label={text.chat.deleteConversation(title)}
              onClick={() => onRemove(id)}
              className="size-8 shrink-0 rounded-lg text-muted hover:bg-sunken hover:text-danger"
            >
              <span aria-hidden="true">×</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
