import { getSystemErrorMessage } from "node:util";
import { ArgumentError } from "@centella/core";
import { GgufError } from "@centella/gguf";
import { ContextOverflowError, GrammarError } from "@centella/llm";
import { kebab } from "./kebab.ts";
import { UsageError } from "./usageError.ts";

/** Whether the command line was wrong, as opposed to a failure of the work itself. */
export function isUsage(error: unknown): boolean {
  // A format that is malformed or cannot be enforced; a dead end depends on the model.
  if (error instanceof GrammarError) return error.code !== "GRAMMAR_DEAD_END";
  return error instanceof UsageError || error instanceof ArgumentError || (error instanceof GgufError && error.code === "exists");
}

/** Message of an error in one line, with options named as they are typed. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ContextOverflowError) {
    const { promptTokens, contextLength } = error;
    return `prompt: expected fewer tokens than the context of ${contextLength}, got ${promptTokens}; shorten it, or raise --context`;
  }
  const { errno, path, syscall } = error as NodeJS.ErrnoException;
  if (errno !== undefined && syscall !== undefined)
    return `cannot ${syscall} ${path === undefined ? "a file" : `'${path}'`}: ${getSystemErrorMessage(errno)}; check the path`;
  return withOptionNames(error.message).replaceAll("\n", " ");
}

/** Options of the API and their names on the command line, where the two differ. */
const optionNames: Readonly<Record<string, string>> = {
  contextLength: "--context",
  memoryLimit: "--memory-limit",
  batchSize: "--batch",
  runsInFlight: "--runs-in-flight",
  cacheType: "--cache-type",
  layersOnGpu: "--layers-on-gpu",
  maxTokens: "--tokens",
  promptLookup: "--prompt-lookup",
  draftTokens: "--draft-tokens",
};

/** `sampling.topK: expected …` becomes `--top-k: expected …`, and `loadModel: expected batchSize to be …` becomes `--batch: expected …`. */
function withOptionNames(message: string): string {
  return message
    .replace(/^\w+: expected (\w+) to be /, (whole, name: string) => (name in optionNames ? `${name}: expected ` : whole))
    .replace(/^sampling\.(\w+)/, (_, name: string) => `--${kebab(name)}`)
    .replace(/\b[a-z]+[A-Z]\w*/g, (word) => optionNames[word] ?? word);
}
