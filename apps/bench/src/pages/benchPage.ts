/** What a page measures when it is asked. The model is at `/model.gguf`; times are in seconds. */
export interface BenchPage {
  /** Loads the model from its URL, as the project's documentation does. Returns the time until a prompt can be sent. */
  load(contextLength: number, threads: number): Promise<number>;
  /** Time from the call until the first token after a prompt. */
  firstToken(prompt: readonly number[]): Promise<number>;
  /** Time to compute a prompt of which nothing is cached. */
  prefill(ids: readonly number[]): Promise<number>;
  /** Time for tokens one after another, after a prompt that is cached. */
  decode(prompt: readonly number[], tokens: number): Promise<number>;
}

/** Makes a page's measurements callable from outside. */
export function expose(page: BenchPage): void {
  Object.assign(globalThis, { bench: page });
}
