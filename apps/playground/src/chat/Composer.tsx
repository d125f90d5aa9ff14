import { AuiIf, ComposerPrimitive } from "@assistant-ui/react";
import type { ReactElement } from "react";
import { text } from "../text/english.ts";
import { buttonClass } from "../ui/controls.tsx";
import { composerBox, composerField } from "./look.ts";

/** Where a message is written. Enter sends it, Shift and Enter begin a line. */
export function Composer(): ReactElement {
  return (
    <ComposerPrimitive.Root className={`flex items-end gap-2 ${composerBox}`}>
      <ComposerPrimitive.Input
        rows={1}
        className={composerField}
        placeholder={text.chat.placeholder}
        aria-label={text.chat.placeholder}
        autoFocus
      />
      <AuiIf condition={({ thread }) => !thread.isRunning}>
        <ComposerPrimitive.Send className={buttonClass("primary")}>{text.chat.send}</ComposerPrimitive.Send>
      </AuiIf>
      <AuiIf condition={({ thread }) => thread.isRunning}>
        <ComposerPrimitive.Cancel className={buttonClass()}>{text.chat.stop}</ComposerPrimitive.Cancel>
      </AuiIf>
    </ComposerPrimitive.Root>
  );
}

/** Where a message is written again. Sending it begins a branch. */
export function EditComposer(): ReactElement {
  return (
    <ComposerPrimitive.Root className={`space-y-2 ${composerBox}`}>
      <ComposerPrimitive.Input className={composerField} aria-label={text.chat.edit} autoFocus />
      <div className="flex justify-end gap-2">
        <ComposerPrimitive.Cancel className={buttonClass("quiet")}>{text.common.cancel}</ComposerPrimitive.Cancel>
        <ComposerPrimitive.Send className={buttonClass("primary")}>{text.chat.save}</ComposerPrimitive.Send>
      </div>
    </ComposerPrimitive.Root>
  );
}
