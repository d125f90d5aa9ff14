import { BranchPickerPrimitive, useAuiState } from "@assistant-ui/react";
import type { ReactElement } from "react";
import { text } from "../text/english.ts";
import { smallButton } from "./look.ts";

/** Goes through the versions of a message that was edited or regenerated. */
export function BranchPicker(): ReactElement {
  const number = useAuiState(({ message }) => message.branchNumber);
  const count = useAuiState(({ message }) => message.branchCount);
  return (
    <BranchPickerPrimitive.Root hideWhenSingleBranch className="flex items-center text-xs text-muted">
      <BranchPickerPrimitive.Previous className={smallButton} aria-label={text.chat.previous}>
        ‹
      </BranchPickerPrimitive.Previous>
      <span className="tabular-nums">{text.chat.branch(number, count)}</span>
      <BranchPickerPrimitive.Next className={smallButton} aria-label={text.chat.next}>
        ›
      </BranchPickerPrimitive.Next>
    </BranchPickerPrimitive.Root>
  );
}
