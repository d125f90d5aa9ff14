import { type AssistantRuntime, useAuiState } from "@assistant-ui/react";
import type { ReactElement } from "react";
import { useRoute } from "../app/route.ts";
import { useCurrentModel } from "../model/ModelProvider.tsx";
import { labelOf } from "../model/source.ts";
import { text } from "../text/english.ts";
import { saveBlob } from "../ui/saveBlob.ts";
import { toJson, toMarkdown } from "./exportConversation.ts";
import { smallButton } from "./look.ts";
import { type Message, shownMessages } from "./messages.ts";
import { givenOptions } from "./settings.ts";

/** Lets the user keep the conversation as a file. */
export function ExportBar({ runtime }: { readonly runtime: AssistantRuntime }): ReactElement | null {
  const isEmpty = useAuiState(({ thread }) => thread.isEmpty || thread.isRunning);
  const { params } = useRoute();
  const { source } = useCurrentModel();
  if (isEmpty) return null;
  const messages = (): readonly Message[] => shownMessages(runtime.thread.exportExternalState());
  const settings = { system: params.get("system") ?? undefined, ...givenOptions(params) };
  const save = (name: string, type: string, content: string): void => saveBlob(name, new Blob([content], { type }));
  return (
    <p className="flex items-center justify-end gap-1 text-xs text-muted">
      {text.chat.exportTitle}
      <button type="button" className={smallButton} onClick={() => save("conversation.md", "text/markdown", toMarkdown(messages()))}>
        {text.chat.exportMarkdown}
      </button>
      <button
        type="button"
        className={smallButton}
        onClick={() => save("conversation.json", "application/json", toJson(messages(), labelOf(source), settings))}
      >
        {text.chat.exportJson}
      </button>
    </p>
  );
}
