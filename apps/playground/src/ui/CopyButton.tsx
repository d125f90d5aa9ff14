import { type ReactElement, useState } from "react";
import { text } from "../text/english.ts";
import { Button } from "./controls.tsx";

/** Copies a text, and says so for a moment. */
export function CopyButton({
  label = text.common.copy,
  content,
}: {
  readonly label?: string;
  readonly content: () => string;
}): ReactElement {
  const [isCopied, setIsCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(content());
    setIsCopied(true);
    setTimeout(() => setIsCopied(false), 2000);
  };
  return (
    <Button onClick={() => void copy()}>
      <span aria-live="polite">{isCopied ? text.common.copied : label}</span>
    </Button>
  );
}
