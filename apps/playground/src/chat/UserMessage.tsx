import { ActionBarPrimitive, MessagePrimitive } from "@assistant-ui/react";
import type { ReactElement } from "react";
import { text } from "../text/english.ts";
import { BranchPicker } from "./BranchPicker.tsx";
import { smallButton } from "./look.ts";

export function UserMessage(): ReactElement {
  return (
    <MessagePrimitive.Root className="group flex flex-col items-end gap-1" data-role="user">
      <span className="sr-only">{text.chat.you}</span>
      <div className="max-w-[85%] rounded-2xl bg-accent-soft px-4 py-2 break-words whitespace-pre-wrap">
        <MessagePrimitive.Parts>{({ part }) => (part.type === "text" ? part.text : null)}</MessagePrimitive.Parts>
      </div>
      <div className="flex items-center gap-2">
        <BranchPicker />
        <ActionBarPrimitive.Root hideWhenRunning className="flex gap-1">
          <ActionBarPrimitive.Edit className={smallButton}>{text.chat.edit}</ActionBarPrimitive.Edit>
        </ActionBarPrimitive.Root>
      </div>
    </MessagePrimitive.Root>
  );
}
