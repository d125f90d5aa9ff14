import type { ChatOptions } from "../chat/chatOptions.ts";
import type { ChatTemplate } from "../chat/chatTemplate.ts";
import type { ChatMessage } from "../chat/messages.ts";
import { textOf } from "../chat/messages.ts";
import { findFormat } from "./formats/findFormat.ts";
import { toolVariables } from "./formats/probe.ts";
import type { ToolFormat } from "./formats/toolFormat.ts";
import { renderedMessages, writtenCalls } from "./toolMessages.ts";
import { type PlainTool, templateTools } from "./tools.ts";

/** Messages and options with which a template renders calls, results and tools. */
export interface ToolPrompt {
  readonly messages: readonly ChatMessage[];
  readonly chat: ChatOptions;
}

/** Adapts a conversation to what its template renders: calls and results that it does not know become content, and tools instructions. */
export function toolPrompt(
  { messages, chat }: ToolPrompt,
  template: ChatTemplate,
  {
    tools = [],
    format = findFormat(template),
  }: { readonly tools?: readonly PlainTool[] | undefined; readonly format?: ToolFormat | undefined } = {},
): ToolPrompt {
  const rendered = renderedMessages(messages, format);
  if (tools.length === 0) return { messages: rendered, chat };
  const shown = templateTools(tools);
  const { tools: variable } = format.template;
  if (variable === undefined) return { messages: withInstructions(rendered, shown, format), chat };
  return { messages: rendered, chat: { ...chat, tools: shown, variables: { ...toolVariables(variable, shown), ...chat.variables } } };
}

/** Describes the tools in the system message. */
function withInstructions(messages: readonly ChatMessage[], tools: readonly object[], format: ToolFormat): readonly ChatMessage[] {
  const [first, ...rest] = messages;
  const text = instructions(tools, format);
  if (first?.role !== "system") return [{ role: "system", content: text }, ...messages];
  const before = first.content === undefined || first.content === null ? "" : textOf(first.content);
  return [{ ...first, content: before === "" ? text : `${before}\n\n${text}` }, ...rest];
}

function instructions(tools: readonly object[], format: ToolFormat): string {
  const lines = tools.map((tool) => JSON.stringify(tool)).join("\n");
  const example = exampleOf(format);
  return `You may call functions to answer the user. These are their signatures:\n<tools>\n${lines}\n</tools>${example}`;
}

/** An example of a call, for formats that templates do not write themselves. */
function exampleOf(format: ToolFormat): string {
  if (format.arguments.kind !== "json") return "";
  const call = writtenCalls([{ id: undefined, name: "NAME", args: { ARGUMENT: "VALUE" } }], format);
  return `\n\nTo call a function, write its name and arguments like this:\n${call}`;
}
