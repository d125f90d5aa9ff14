import type { GenerationFinish, GenerationPart } from "@centella/llm";
import type { Output } from "./output.ts";

/** Tokens from which progress of a prompt is shown: fewer are computed too fast to read it. */
const longPrompt = 256;

/** Writes a text while it is generated: the answer and calls of tools to stdout, reasoning and the progress of a long prompt to stderr. */
export async function writeGeneration(parts: AsyncIterable<GenerationPart>, output: Output): Promise<GenerationFinish> {
  let isThinking = false;
  for await (const part of parts) {
    if (part.type === "finish") {
      if (isThinking) output.aside("\n");
      return part;
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
  throw noFinish();
}

/** Returns the finish of a generation, without writing its text. */
export async function lastOf(parts: AsyncIterable<GenerationPart>): Promise<GenerationFinish> {
  for await (const part of parts) if (part.type === "finish") return part;
  throw noFinish();
}

function noFinish(): Error {
  return new Error("generate: expected a finish part, got the end of the stream; this is a bug, please report it");
}
