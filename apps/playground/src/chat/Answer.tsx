import { ActionBarPrimitive, MessagePrimitive, useAuiState } from "@assistant-ui/react";
import type { ChatMetadata } from "@centella/react/chat";
import type { ReactElement } from "react";
import { useCurrentModel } from "../model/ModelProvider.tsx";
import { text } from "../text/english.ts";
import { formatCount, formatMs, formatRate } from "../ui/format.ts";
import { BranchPicker } from "./BranchPicker.tsx";
import { smallButton } from "./look.ts";
import { Markdown } from "./Markdown.tsx";

/** An answer: its reasoning folded, its text, and what it took. */
export function Answer(): ReactElement {
  return (
    <MessagePrimitive.Root className="flex flex-col gap-2" data-role="assistant">
      <span className="sr-only">{text.chat.assistant}</span>
      <MessagePrimitive.Parts>
        {({ part }) => {
          if (part.type === "reasoning") return <Reasoning content={part.text} isRunning={part.status?.type === "running"} />;
          if (part.type !== "text") return null;
          if (part.text === "" && part.status?.type === "running") return <Working />;
          return <Markdown content={part.text} isRunning={part.status?.type === "running"} />;
        }}
      </MessagePrimitive.Parts>
      <div className="flex flex-wrap items-center gap-2">
        <BranchPicker />
        <ActionBarPrimitive.Root hideWhenRunning className="flex gap-1">
          <ActionBarPrimitive.Copy className={smallButton}>{text.common.copy}</ActionBarPrimitive.Copy>
          <ActionBarPrimitive.Reload className={smallButton}>{text.chat.regenerate}</ActionBarPrimitive.Reload>
        </ActionBarPrimitive.Root>
        <Figures />
      </div>
    </MessagePrimitive.Root>
  );
}

function Reasoning({ content, isRunning }: { readonly content: string; readonly isRunning: boolean }): ReactElement {
  return (
    <details className="rounded-lg border border-line px-3 py-2 text-sm text-muted">
      <summary>
        {text.chat.thinking}
        {isRunning && " …"}
      </summary>
      <p className="mt-2 whitespace-pre-wrap">{content}</p>
    </details>
  );
}

/** What happens before the first token: the prompt is read. */
function Working(): ReactElement {
  const { prefill } = useCurrentModel();
  const isKnown = prefill !== undefined && prefill.done < prefill.total;
  return (
    <p className="text-sm text-muted">
      {isKnown ? text.chat.prefill(formatCount(prefill.done), formatCount(prefill.total)) : text.chat.working}
    </p>
  );
}

function Figures(): ReactElement | null {
  const { timings, usage, seed } = useAuiState(({ message }) => message.metadata.custom as ChatMetadata);
  if (timings === undefined || usage === undefined) return null;
  const parts = [
    text.chat.figures.rate(formatRate(timings.decodeTokensPerSecond)),
    text.chat.figures.first(formatMs(timings.timeToFirstTokenMs)),
    text.chat.figures.cached(formatCount(usage.cachedTokens), formatCount(usage.promptTokens)),
    ...(seed === undefined ? [] : [text.chat.figures.seed(String(seed))]),
  ];
  return (
    <p className="text-xs text-muted tabular-nums" data-testid="figures">
      {parts.join(" · ")}
    </p>
  );
}
