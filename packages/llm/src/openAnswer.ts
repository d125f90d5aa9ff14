import type { ChatMessage } from "./chatMessages.ts";

/** Whether a message is an assistant's answer that can be continued: one with text, and without calls that wait for their results. */
export function isOpenAnswer(message: ChatMessage | undefined): boolean {
  return message?.role === "assistant" && message.content !== undefined && message.content !== null && !message.tool_calls;
}
