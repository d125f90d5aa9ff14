import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import type { ChatMessage } from "@centella/llm";
import { refuse } from "../errors.ts";

type UserPart = Extract<LanguageModelV4Message, { role: "user" }>["content"][number];
type AssistantPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];

/** The prompt of a call as messages of the engine. @throws {UnsupportedFunctionalityError} for files, pictures and other content that is no text */
export function chatMessages(prompt: LanguageModelV4Prompt): readonly ChatMessage[] {
  return prompt.flatMap(messagesOf);
}

function messagesOf(message: LanguageModelV4Message): readonly ChatMessage[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }];
    case "user":
      return [{ role: "user", content: message.content.map(userText).join("") }];
    case "assistant":
      return [assistantMessage(message.content)];
    case "tool":
      // Answers to requests of approval are for tools that a provider executes. There are none here.
      return message.content.flatMap((part) => (part.type === "tool-result" ? [toolMessage(part)] : []));
  }
}

function userText(part: UserPart): string {
  if (part.type === "text") return part.text;
  return refuse(`file part of type ${part.mediaType}`, "models read text alone; leave the part out");
}

function assistantMessage(parts: readonly AssistantPart[]): ChatMessage {
  let [content, reasoning] = ["", ""];
  const calls: object[] = [];
  for (const part of parts) {
    switch (part.type) {
      case "text":
        content += part.text;
        break;
      case "reasoning":
        reasoning += part.text;
        break;
      case "tool-call": {
        const { toolCallId: id, toolName: name, input } = part;
        calls.push({ id, type: "function", function: { name, arguments: JSON.stringify(input) } });
        break;
      }
      default:
        refuse(`${part.type} part of an assistant's message`, "models write text and calls of tools alone; leave the part out");
    }
  }
  return {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : content,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(reasoning !== "" && { reasoning_content: reasoning }),
  };
}

function toolMessage({ toolCallId, toolName, output }: LanguageModelV4ToolResultPart): ChatMessage {
  return { role: "tool", tool_call_id: toolCallId, name: toolName, content: resultText(output) };
}

function resultText(output: LanguageModelV4ToolResultPart["output"]): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "json":
    case "error-json":
      return JSON.stringify(output.value);
    case "execution-denied":
      return output.reason ?? "The user denied the execution of this tool.";
    case "content":
      return output.value
        .map((part) => (part.type === "text" ? part.text : refuse(`${part.type} part of a tool's result`, "models read text alone")))
        .join("");
  }
}
