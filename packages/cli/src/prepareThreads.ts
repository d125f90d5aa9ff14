/** Commands that compute, and options with which they do not use the default number of threads. */
const computing: readonly string[] = ["run", "chat", "batch", "embed", "rerank", "bench", "logits", "perplexity"];
const othersThanDefault = /^(-t|--threads|--backend|--device|-h|--help)/;

/** Starts the threads of a command that computes, so that they start while its code is loaded. */
export async function prepareThreads([name = "", ...rest]: readonly string[]): Promise<void> {
  if (!computing.includes(name) || rest.some((arg) => othersThanDefault.test(arg))) return;
  (await import("@centella/backend-wasm/threads")).startThreads();
}
