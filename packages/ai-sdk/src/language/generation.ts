import type { SharedV4Warning } from "@ai-sdk/provider";
import { UnsupportedError } from "@centella/core";
import type { GenerateOptions, GenerationPart } from "@centella/llm";
import type { EngineModel } from "@centella/llm/engine";
import { adapterOption } from "../modelHandle.ts";
import type { EngineCall } from "./engineCall.ts";

const unknownLevel: SharedV4Warning = {
  type: "unsupported",
  feature: "reasoning",
  details: "the model has neither levels of reasoning nor a thought that can be cut short",
};

/** A generation whose options and prompt were checked. Reading its parts computes them. */
export class Generation {
  readonly warnings: readonly SharedV4Warning[];
  readonly #parts: AsyncGenerator<GenerationPart, void, undefined>;
  /** The part that came with the checks. */
  #first: IteratorResult<GenerationPart, void> | undefined;

  /**
   * Starts a generation with the first way of reasoning that the model knows. If it knows none of them, it reasons as it does by default, and
   * there is a warning.
   * @throws the errors of the engine that come before anything is computed
   */
  static async start(model: EngineModel, { prompt, options, adapter, reasoning, warnings }: EngineCall): Promise<Generation> {
    // A session that is not disposed of leaves its prompt and text in the cache, where the next turn of the conversation finds them.
    const begin = (own: GenerateOptions, all: readonly SharedV4Warning[]): Promise<Generation> =>
      Generation.#begin(model.createSession(adapterOption(adapter)).generate(prompt, own), all);
    for (const way of reasoning) {
      try {
        return await begin({ ...options, reasoning: way }, warnings);
      } catch (error) {
        if (!(error instanceof UnsupportedError && error.message.startsWith("reasoning."))) throw error;
      }
    }
    return begin(options, reasoning.length === 0 ? warnings : [...warnings, unknownLevel]);
  }

  static async #begin(parts: AsyncGenerator<GenerationPart, void, undefined>, warnings: readonly SharedV4Warning[]): Promise<Generation> {
    return new Generation(parts, await parts.next(), warnings);
  }

  private constructor(
    parts: AsyncGenerator<GenerationPart, void, undefined>,
    first: IteratorResult<GenerationPart, void>,
    warnings: readonly SharedV4Warning[],
  ) {
    this.#parts = parts;
    this.#first = first;
    this.warnings = warnings;
  }

  /** The next part; undefined after the last one. @throws the errors of the engine, and the signal's reason */
  async next(): Promise<GenerationPart | undefined> {
    const result = this.#first ?? (await this.#parts.next());
    this.#first = undefined;
    return result.done === true ? undefined : result.value;
  }

  /** Ends the generation, if it still runs. */
  async close(): Promise<void> {
    await this.#parts.return();
  }
}
