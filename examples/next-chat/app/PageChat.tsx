"use client";

import { fable } from "@centella/model-fable"; // or the URL of any GGUF file, or "hf:owner/repo:Q4_K_M"
import { CentellaProvider, useModel } from "@centella/react";
import { useCentellaChat } from "@centella/react/chat";
import { Conversation } from "./Conversation";

const worker = () => new Worker(new URL("./engine.ts", import.meta.url), { type: "module" });
const agent = { maxOutputTokens: 200 };

/** A chat with a model in this page, which is downloaded once. */
export function PageChat() {
  return (
    <CentellaProvider worker={worker}>
      <Chat />
    </CentellaProvider>
  );
}

function Chat() {
  const model = useModel(fable);
  const { messages, sendMessage, status, error } = useCentellaChat(model, { agent });
  const ask = (text: string) => void sendMessage({ text });
  const state = error?.message ?? `${model.status} ${model.backend ?? ""}`;
  return <Conversation title="In this page" state={state} messages={messages} isReady={status === "ready"} ask={ask} />;
}
