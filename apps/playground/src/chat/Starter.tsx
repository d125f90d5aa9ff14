import { type FormEvent, type KeyboardEvent, type ReactElement, useState } from "react";
import { text } from "../text/english.ts";
import { Button, buttonClass } from "../ui/controls.tsx";
import { composerBox, composerField } from "./look.ts";

interface StarterProps {
  /** Called when a message is about to be written. */
  readonly onIntent: () => void;
  readonly onSend: (message: string) => void;
}

/** Where a conversation begins. It has none of the code of conversations, so that the page starts from less. */
export function Starter({ onIntent, onSend }: StarterProps): ReactElement {
  const [draft, setDraft] = useState("");
  const send = (event?: FormEvent): void => {
    event?.preventDefault();
    if (draft.trim() !== "") onSend(draft);
  };
  const sendOnEnter = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      send();
    }
  };
  return (
    <div className="flex min-h-0 flex-1 flex-col px-4">
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto max-w-3xl space-y-4 pt-10 pb-6 md:pt-20">
          <h2 className="text-2xl font-semibold">{text.chat.emptyTitle}</h2>
          <p className="max-w-prose text-muted">{text.chat.emptyIntro}</p>
          <div className="flex flex-col items-start gap-2">
            {text.chat.suggestions.map((prompt) => (
              <Button key={prompt} className="text-left" onClick={() => onSend(prompt)}>
                {prompt}
              </Button>
            ))}
          </div>
        </div>
      </div>
      <form onSubmit={send} className={`mx-auto mb-3 flex w-full max-w-3xl items-end gap-2 ${composerBox}`}>
        <textarea
          rows={1}
          className={composerField}
          placeholder={text.chat.placeholder}
          aria-label={text.chat.placeholder}
          value={draft}
          onPointerDown={onIntent}
          onChange={({ target }) => {
            onIntent();
            setDraft(target.value);
          }}
          onKeyDown={sendOnEnter}
        />
        <button type="submit" disabled={draft.trim() === ""} className={buttonClass("primary")}>
          {text.chat.send}
        </button>
      </form>
    </div>
  );
}
