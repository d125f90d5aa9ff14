"use client";

import { useChat } from "@ai-sdk/react";
import { Conversation } from "./Conversation";

/** A chat with the model on the server, by the route /api/chat. */
export function ServerChat() {
  const { messages, sendMessage, status, error } = useChat();
  const ask = (text: string) => void sendMessage({ text });
  return <Conversation title="On the server" state={error?.message ?? status} messages={messages} isReady={status === "ready"} ask={ask} />;
}
