import { text } from "../text/english.ts";
import { type Message, textOf } from "./messages.ts";

/** The messages that are shown as Markdown, with a heading for each. */
export function toMarkdown(messages: readonly Message[]): string {
  const parts = messages.map(
    (message) => `## ${message.role === "user" ? text.chat.you : text.chat.assistant}\n\n${textOf(message).trim()}\n`,
  );
  return parts.join("\n");
}

/** The messages that are shown with what produced them. */
export function toJson(messages: readonly Message[], model: string, settings: object): string {
  // JSON has no infinities, which exclude tokens.
  const shown = (_: string, value: unknown): unknown => (value === Number.NEGATIVE_INFINITY ? "-Infinity" : value);
  return `${JSON.stringify({ model, settings, messages }, shown, 2)}\n`;
}
