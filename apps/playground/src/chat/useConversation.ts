import type { AssistantRuntime } from "@assistant-ui/react";
import { useAISDKRuntime } from "@assistant-ui/react-ai-sdk";
import { useCentellaChat } from "@centella/react/chat";
import { useEffect, useRef, useState } from "react";
import { useRoute } from "../app/route.ts";
import { useCurrentModel } from "../model/ModelProvider.tsx";
import { type Conversation, writeConversation } from "./conversations.ts";
import { type Branches, shownMessages, textOf } from "./messages.ts";
import { agentSettings } from "./settings.ts";
import { restoreSnapshot, saveSnapshot } from "./snapshots.ts";

/** A conversation with the current model, which is kept after each answer. */
export interface OpenConversation {
  readonly runtime: AssistantRuntime;
  readonly error: Error | undefined;
  /** Tokens that came back from storage. */
  readonly restoredTokens: number | undefined;
}

export function useConversation(id: string, initial: Conversation | undefined, onSaved: () => void): OpenConversation {
  const { params } = useRoute();
  const chat = useCentellaChat(useCurrentModel(), { id, agent: agentSettings(params) });
  const runtime = useAISDKRuntime(chat, initial && { messageRepository: initial.branches });
  const restoredTokens = useRestoredCache(id);
  useKept(id, initial, runtime, onSaved);
  return { runtime, error: chat.error, restoredTokens };
}

/** Brings the conversation's cache back when its model is loaded. Returns the number of tokens. */
function useRestoredCache(id: string): number | undefined {
  const { model, source } = useCurrentModel();
  const [tokens, setTokens] = useState<number>();
  useEffect(() => {
    if (model === undefined) return undefined;
    let isOver = false;
    void restoreSnapshot(id, model, source).then((restored) => {
      if (!isOver) setTokens(restored);
    });
    return () => {
      isOver = true;
    };
  }, [id, model, source]);
  return tokens;
}

/** Time in which changes of a thread are kept together, in ms. */
const settleMs = 100;

/** Keeps the messages whenever an answer is over or another branch is shown, and the cache with them. */
function useKept(id: string, initial: Conversation | undefined, runtime: AssistantRuntime, onSaved: () => void): void {
  const { model, source } = useCurrentModel();
  const { params } = useRoute();
  const system = params.get("system");
  const kept = useRef(initial && markOf(initial.branches));
  const save = async (): Promise<void> => {
    const branches: Branches = runtime.thread.exportExternalState();
    const mark = markOf(branches);
    if (runtime.thread.getState().isRunning || branches.messages.length === 0 || mark === kept.current) return;
    kept.current = mark;
    await writeConversation(id, branches);
    onSaved();
    const shown = shownMessages(branches);
    if (model === undefined || shown.at(-1)?.role !== "assistant") return;
    const messages = shown.map((message) => ({ role: message.role, content: textOf(message) }));
    await saveSnapshot(id, model, source, system === null ? messages : [{ role: "system", content: system }, ...messages]);
  };
  const latest = useRef(save);
  useEffect(() => {
    latest.current = save;
  });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const unsubscribe = runtime.thread.subscribe(() => {
      clearTimeout(timer);
      timer = setTimeout(() => void latest.current(), settleMs);
    });
    return () => {
      clearTimeout(timer);
      unsubscribe();
    };
  }, [runtime]);
}

/** Differs for conversations that differ. */
function markOf({ headId, messages }: Branches): string {
  return `${messages.length} ${headId ?? messages.at(-1)?.message.id}`;
}
