import type { GenerationFinish, GenerationPart, RunPart, ToolResultPart } from "@centella/llm";
import type { Output } from "./output.ts";

/** Tokens from which progress of a prompt is shown: fewer are computed too fast to read it. */
const longPrompt = 256;

/**
 * Writes a text while it is generated: the answers and calls of tools to stdout, reasoning, results of calls and the progress of a long prompt to
 * stderr. Returns the last finish.
 */
export async function writeGeneration(parts: AsyncIterable<RunPart>, output: Output): Promise<GenerationFinish> {
  let isThinking = false;
  let finish: GenerationFinish | undefined;
  for await (const part of parts) {
    if (part.type === "finish") {
      finish = part;
      if (isThinking) output.aside("\n");
      isThinking = false;
      continue;
    }
    if (part.type === "toolResult") {
      output.note(resultLine(part));
      continue;
    }
    if (part.type === "prefill") {
      if (part.total - part.done >= longPrompt) output.status(`reading the prompt: ${part.done} of ${part.total} tokens`);
      else output.clearStatus();
      continue;
    }
    if (part.type === "toolCall") {
      output.write(`${part.isFirst ? `\n${part.name} ` : ""}${part.argumentsDelta}`);
      continue;
    }
    if (isThinking !== (part.type === "reasoning")) {
      isThinking = !isThinking;
      output.aside(isThinking ? "[thinking] " : "\n");
    }
    if (isThinking) output.aside(part.text);
    else output.write(part.text);
  }
  return finish ?? noFinish();
}

/** Characters of a result that are shown: the model reads all of it. */
const shownResult = 400;

function resultLine({ name, result }: ToolResultPart): string {
  const rest = result.length - shownResult;
  return `\n${name}: ${result.slice(0, shownResult)}${rest > 0 ? `… and ${rest} more characters` : ""}`;
}

/** Returns the finish of a generation, without writing its text. */
export async function lastOf(parts: AsyncIterable<GenerationPart>): Promise<GenerationFinish> {
  for await (const part of parts) if (part.type === "finish") return part;
  return noFinish();
}

function noFinish(): never {
  throw new Error("generate: expected a finish part, got the end of the stream; this is a bug, please report it");
}
