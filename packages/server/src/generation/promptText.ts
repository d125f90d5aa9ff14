import type { Prompt } from "@centella/llm";

/** A prompt in the order in which the model reads it. */
export function textOf(prompt: Prompt): string {
  if (typeof prompt === "string") return prompt;
  if ("ids" in prompt) return Array.from(prompt.ids).join(" ");
  if (!("prefix" in prompt)) return JSON.stringify(prompt);
  const { prefix, files = [] } = prompt;
  return files.map(({ name, text }) => `${name}\n${text}`).join("") + prefix;
}
