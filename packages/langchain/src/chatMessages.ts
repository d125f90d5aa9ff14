import { UnsupportedError } from "@centella/core";
import type { ChatMessage } from "@centella/llm";
import { AIMessage, type BaseMessage, type MessageContent, ChatMessage as NamedRoleMessage, ToolMessage } from "@langchain/core/messages";

const roles: Readonly<Record<string, string>> = { human: "user", ai: "assistant", system: "system", developer: "developer", tool: "tool" };

/** Messages of LangChain as messages of the engine. @throws {UnsupportedError} for pictures and other content that is no text */
export function chatMessages(messages: readonly BaseMessage[]): readonly ChatMessage[] {
  return messages.map((message) => {
    const role = NamedRoleMessage.isInstance(message) ? message.role : (roles[message.type] ?? message.type);
    const content = textOf(message.content);
    const name = message.name === undefined ? {} : { name: message.name };
    if (AIMessage.isInstance(message)) return { role, ...name, ...assistantFields(message, content) };
    if (ToolMessage.isInstance(message)) return { role, ...name, tool_call_id: message.tool_call_id, content };
    return { role, ...name, content };
  });
}

function assistantFields({ tool_calls: calls = [], additional_kwargs }: AIMessage, content: string): Omit<ChatMessage, "role"> {
  const { reasoning_content } = additional_kwargs;
  return {
    content: content === "" && calls.length > 0 ? null : content,
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, args }) => ({ id, type: "function", function: { name, arguments: JSON.stringify(args) } })),
    }),
    ...(typeof reasoning_content === "string" && reasoning_content !== "" && { reasoning_content }),
  };
}

/** The text of a content. @throws {UnsupportedError} for pictures and other content that is no text */
export function textOf(content: MessageContent): string {
  if (typeof content === "string") return content;
  return content
    .map((part) => {
      if (part.type === "text" && typeof part.text === "string") return part.text;
      // Calls are in `tool_calls`, and thoughts in `additional_kwargs`, too.
      if (part.type === "tool_use" || part.type === "tool_call" || part.type === "reasoning") return "";
      throw new UnsupportedError(`content part of type ${part.type}`, "models read text alone; leave the part out");
    })
    .join("");
}
