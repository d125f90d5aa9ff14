import { UnsupportedError } from "@centella/core";
import { isRecord } from "@centella/quant/checks";
import type { ChatMessage } from "../chat/messages.ts";
import { textOf } from "../chat/messages.ts";
import type { Pieces, ToolFormat } from "./formats/toolFormat.ts";

/** A call in an assistant's message. */
interface MessageCall {
  readonly id: string | undefined;
  readonly name: string;
  readonly args: unknown;
}

/** Messages as a template renders them: calls and results that it does not know become content. */
export function renderedMessages(messages: readonly ChatMessage[], format: ToolFormat): readonly ChatMessage[] {
  const rendered: ChatMessage[] = [];
  for (const message of messages) {
    const calls = callsOf(message);
    if (calls.length > 0) rendered.push(withCalls(message, calls, format));
    else if (message.role === "tool" && !format.template.results) addResult(rendered, message);
    else rendered.push(message);
  }
  return rendered;
}

function callsOf({ role, tool_calls: calls }: ChatMessage): readonly MessageCall[] {
  if (role !== "assistant" || !Array.isArray(calls)) return [];
  return calls.flatMap((call: unknown): MessageCall[] => {
    if (!isRecord(call)) return [];
    const { name, arguments: args } = isRecord(call.function) ? call.function : call;
    return typeof name === "string" ? [{ id: typeof call.id === "string" ? call.id : undefined, name, args }] : [];
  });
}

function withCalls(message: ChatMessage, calls: readonly MessageCall[], format: ToolFormat): ChatMessage {
  const { tool_calls: _, content, ...rest } = message;
  const text = content === undefined || content === null ? "" : textOf(content);
  const { template } = format;
  if (template.calls === "none") {
    const written = writtenCalls(calls, format);
    return { ...rest, content: text === "" ? written : `${text}\n${written}` };
  }
  return {
    ...rest,
    content: text === "" || !template.rendersContent ? template.content : text,
    tool_calls: calls.map(({ id, name, args }) => ({
      ...(id !== undefined && { id }),
      type: "function",
      function: { name, arguments: template.calls === "object" ? asObject(args) : asText(args) },
    })),
  };
}

function asObject(args: unknown): unknown {
  if (typeof args !== "string") return args ?? {};
  try {
    return JSON.parse(args);
  } catch {
    return args;
  }
}

function asText(args: unknown): string {
  return typeof args === "string" ? args : JSON.stringify(args ?? {});
}

/** Adds a result as part of a user message. */
function addResult(messages: ChatMessage[], { content }: ChatMessage): void {
  const text = `<tool_response>\n${content === undefined || content === null ? "" : textOf(content)}\n</tool_response>`;
  const last = messages.at(-1);
  if (last?.role === "user" && typeof last.content === "string")
    messages[messages.length - 1] = { ...last, content: `${last.content}\n${text}` };
  else messages.push({ role: "user", content: text });
}

/**
 * The text of calls in a format.
 * @throws {UnsupportedError} for formats that only templates write
 */
export function writtenCalls(calls: readonly MessageCall[], format: ToolFormat): string {
  const { before, between, after, call } = format;
  const texts = calls.map((each, i) => {
    const pieces: Pieces = [...(i === 0 ? before : (between ?? [after, ...before])), ...call];
    return pieces.map((piece) => (typeof piece === "string" ? piece : slotText(piece.slot, each, i, format))).join("");
  });
  return texts.join("") + after;
}

function slotText(slot: "name" | "id" | "index" | "arguments", { id, name, args }: MessageCall, i: number, format: ToolFormat): string {
  if (slot === "name") return name;
  if (slot === "id") return id ?? "";
  return slot === "index" ? `${format.firstIndex + i}` : writtenArguments(asObject(args), format);
}

function writtenArguments(args: unknown, { arguments: syntax }: ToolFormat): string {
  if (syntax.kind === "json") return JSON.stringify(args);
  if (syntax.kind === "notation" && syntax.notation === "python") {
    const members = Object.entries(isRecord(args) ? args : {});
    return members.map(([key, value]) => `${key}${syntax.assign}${pythonText(value)}`).join(syntax.comma) + syntax.end;
  }
  throw new UnsupportedError("toolFormat", "only the chat template writes calls in this format");
}

function pythonText(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonText).join(", ")}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, member]) => `${JSON.stringify(key)}: ${pythonText(member)}`)
    .join(", ")}}`;
}
