import type { GenerateOptions, Prompt } from "@centella/llm";

/** Estimated tokens of a prompt with its tools and its format: a quarter of the characters. Token ids count exactly. */
export function estimatedTokens(prompt: Prompt, { tools, format }: GenerateOptions): number {
  const isIds = typeof prompt === "object" && "ids" in prompt;
  const characters = charactersOf(isIds ? [tools, format] : [prompt, tools, format]) / 4;
  return isIds ? prompt.ids.length + characters : characters;
}

/** Characters of all strings and names in plain data, of any depth. */
function charactersOf(data: readonly unknown[]): number {
  const pending = [...data];
  let count = 0;
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value === "string") count += value.length;
    else if (Array.isArray(value)) for (const element of value) pending.push(element);
    else if (typeof value === "object" && value !== null)
      for (const [name, property] of Object.entries(value)) {
        count += name.length;
        pending.push(property);
      }
  }
  return count;
}
