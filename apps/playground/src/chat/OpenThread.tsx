import { AssistantRuntimeProvider } from "@assistant-ui/react";
import { type ReactElement, useEffect } from "react";
import type { Conversation } from "./conversations.ts";
import { ExportBar } from "./ExportBar.tsx";
import { Thread } from "./Thread.tsx";
import { useConversation } from "./useConversation.ts";

interface OpenThreadProps {
  readonly id: string;
  readonly initial: Conversation | undefined;
  /** The message that begins the conversation. */
  readonly first: string | undefined;
  readonly onSaved: () => void;
}

/** A conversation that has begun. */
export function OpenThread({ id, initial, first, onSaved }: OpenThreadProps): ReactElement {
  const { runtime, error, restoredTokens } = useConversation(id, initial, onSaved);
  useEffect(() => {
    if (first === undefined || initial !== undefined) return undefined;
    // In StrictMode an effect runs twice: the first time is taken back before the message is sent.
    const timer = setTimeout(() => runtime.thread.append(first));
    return () => clearTimeout(timer);
  }, [first, initial, runtime]);
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <Thread error={error} restoredTokens={restoredTokens}>
        <ExportBar runtime={runtime} />
      </Thread>
    </AssistantRuntimeProvider>
  );
}
