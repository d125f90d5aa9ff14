import type { GenerationFinish, GenerationPart } from "@centella/llm";
import type { Output } from "./output.ts";

/** Fewer tokens are computed before anybody has read how many they are. */
const longPrompt = 256;

/** Writes a text as it is generated: the answer to stdout, what the model thinks first to stderr, with the progress of a long prompt. */
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
    if (isThinking !== (part.type === "reasoning")) {
      isThinking = !isThinking;
      output.aside(isThinking ? "[thinking] " : "\n");
    }
    if (isThinking) output.aside(part.text);
    else output.write(part.text);
  }
  throw noFinish();
}

/** The end of a generation. */
export async function lastOf(parts: AsyncIterable<GenerationPart>): Promise<GenerationFinish> {
  for await (const part of parts) if (part.type === "finish") return part;
  throw noFinish();
}

function noFinish(): Error {
  return new Error("generate: expected a finish part, got the end of the stream; this is a bug, please report it");
}
