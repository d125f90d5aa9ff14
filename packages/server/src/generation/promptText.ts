import type { Prompt } from "@centella/llm";

/** A prompt in the order in which the model reads it. */
export function textOf(prompt: Prompt): string {
  if (typeof prompt === "string") return prompt;
  if ("ids" in prompt) return Array.from(prompt.ids).join(" ");
  return "prefix" in prompt ? prompt.prefix : JSON.stringify(prompt);
}
