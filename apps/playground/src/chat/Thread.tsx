import { ThreadPrimitive, useAuiState } from "@assistant-ui/react";
import type { ReactElement, ReactNode } from "react";
import { text } from "../text/english.ts";
import { buttonClass } from "../ui/controls.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { formatCount } from "../ui/format.ts";
import { Answer } from "./Answer.tsx";
import { Composer, EditComposer } from "./Composer.tsx";
import { UserMessage } from "./UserMessage.tsx";

interface ThreadProps {
  readonly error: Error | undefined;
  readonly restoredTokens: number | undefined;
  readonly children: ReactNode;
}

/** The messages of a conversation, and where the next one is written. */
export function Thread({ error, restoredTokens, children }: ThreadProps): ReactElement {
  const isRunning = useAuiState(({ thread }) => thread.isRunning);
  return (
    <ThreadPrimitive.Root className="flex min-h-0 flex-1 flex-col">
      <ThreadPrimitive.Viewport
        className="relative min-h-0 flex-1 overflow-y-auto px-4"
        tabIndex={0}
        aria-label={text.chat.title}
        role="log"
        // Screen readers read an answer when it is complete.
        aria-busy={isRunning}
      >
        <div className="mx-auto flex max-w-3xl flex-col gap-6 py-6">
          {restoredTokens !== undefined && <p className="text-xs text-muted">{text.chat.restored(formatCount(restoredTokens))}</p>}
          <ThreadPrimitive.Messages>
            {({ message }) => {
              if (message.composer.isEditing) return <EditComposer />;
              return message.role === "user" ? <UserMessage /> : <Answer />;
            }}
          </ThreadPrimitive.Messages>
          {error !== undefined && <ErrorNote error={error} />}
        </div>
        <ThreadPrimitive.ScrollToBottom className={`${buttonClass()} sticky bottom-2 left-full disabled:invisible`}>
          <span aria-hidden="true">↓</span>
          <span className="sr-only">{text.chat.toBottom}</span>
        </ThreadPrimitive.ScrollToBottom>
      </ThreadPrimitive.Viewport>
      <div className="mx-auto w-full max-w-3xl space-y-2 px-4 pb-3">
        <Composer />
        {children}
      </div>
    </ThreadPrimitive.Root>
  );
}
