import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { loadModel, type Model } from "@centella/llm";
import type { ServerOptions } from "./servers.ts";

/** A text that was generated without a server. */
export interface Generated {
  readonly firstMs: number;
  readonly totalMs: number;
}

/** The model in this process, for what the server adds. */
export class InProcess implements AsyncDisposable {
  readonly #runtime: Runtime;
  readonly #model: Model;

  static async open({ model, context, sequences, threads }: ServerOptions): Promise<InProcess> {
    const runtime = await createRuntime({ backends: [wasm({ threads })] });
    return new InProcess(runtime, await loadModel(model, { runtime, contextLength: context, sequences }));
  }

  private constructor(runtime: Runtime, model: Model) {
    this.#runtime = runtime;
    this.#model = model;
  }

  /** Number of tokens of a text. */
  tokensOf(text: string): number {
    return this.#model.tokenizer.encode(text).length;
  }

  /** Generates a text of exactly `maxTokens` tokens, as the server does for a chat. */
  async generate(prompt: string, maxTokens: number): Promise<Generated> {
    const startedAt = performance.now();
    let firstMs = Number.NaN;
    const options = { maxTokens, temperature: 0, ignoreEos: true };
    for await (const { type } of this.#model.createSession().generate([{ role: "user", content: prompt }], options))
      if (type === "text" && Number.isNaN(firstMs)) firstMs = performance.now() - startedAt;
    return { firstMs, totalMs: performance.now() - startedAt };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#model.dispose();
    await this.#runtime.dispose();
  }
}
