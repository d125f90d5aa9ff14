import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from "@ai-sdk/provider";
import type { EngineModel } from "@centella/llm/engine";
import { sdkError, withSdkErrors } from "../errors.ts";
import { type ModelHandle, openFor } from "../modelHandle.ts";
import { engineCall } from "./engineCall.ts";
import { failed, type SdkFinish, sdkFinish } from "./finish.ts";
import { Generation } from "./generation.ts";
import { SdkParts } from "./sdkParts.ts";

/** Name of the provider. Options and metadata have it as their key. */
export const provider = "centella";

/** A model that generates text. */
export class CentellaLanguageModel implements LanguageModelV4 {
  readonly specificationVersion = "v4";
  readonly provider = provider;
  /** All, though models read text alone: the AI SDK would download the others before they are refused. */
  readonly supportedUrls: Record<string, RegExp[]> = { "*": [/^/] };
  readonly #handle: ModelHandle;

  constructor(handle: ModelHandle) {
    this.#handle = handle;
  }

  get modelId(): string {
    return this.#handle.id;
  }

  async doGenerate(call: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    return withSdkErrors(async () => {
      const { model, generation } = await this.#start(call);
      const content: LanguageModelV4Content[] = [];
      const parts = new SdkParts();
      try {
        for (let part = await generation.next(); part !== undefined; part = await generation.next()) {
          for (const each of parts.of(part)) collect(content, each);
          if (part.type !== "finish") continue;
          const finish = sdkFinish(part, parts.reasoningTokens, model.info);
          const warnings = [...generation.warnings, ...(part.warnings ?? []).map((message) => ({ type: "other" as const, message }))];
          return { content, ...finish, warnings, response: this.#response() };
        }
        throw new Error("generate: expected a finish, got none; please report it");
      } finally {
        await generation.close();
      }
    });
  }

  async doStream(call: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const { model, generation } = await withSdkErrors(() => this.#start(call));
    const parts = this.#parts(model, generation, call);
    const stream = new ReadableStream<LanguageModelV4StreamPart>(
      {
        // One part for each read, so that the engine computes no faster than the parts are read.
        async pull(controller) {
          const { done, value } = await parts.next();
          if (done === true) controller.close();
          else controller.enqueue(value);
        },
        async cancel() {
          await parts.return();
          await generation.close();
        },
      },
      { highWaterMark: 0 },
    );
    return { stream };
  }

  async #start(call: LanguageModelV4CallOptions): Promise<{ readonly model: EngineModel; readonly generation: Generation }> {
    const translated = engineCall(call, this.#handle.defaults);
    const model = await openFor(this.#handle, { adapter: translated.adapter, signal: call.abortSignal });
    return { model, generation: await Generation.start(model, translated) };
  }

  #response(): { readonly id: string; readonly timestamp: Date; readonly modelId: string } {
    return { id: crypto.randomUUID(), timestamp: new Date(), modelId: this.modelId };
  }

  async *#parts(
    { info }: EngineModel,
    generation: Generation,
    { includeRawChunks = false, abortSignal }: LanguageModelV4CallOptions,
  ): AsyncGenerator<LanguageModelV4StreamPart, void, undefined> {
    const parts = new SdkParts();
    let finish: SdkFinish = failed;
    try {
      yield { type: "stream-start", warnings: [...generation.warnings] };
      yield { type: "response-metadata", ...this.#response() };
      for (let part = await generation.next(); part !== undefined; part = await generation.next()) {
        if (includeRawChunks) yield { type: "raw", rawValue: part };
        yield* parts.of(part);
        if (part.type === "finish") finish = sdkFinish(part, parts.reasoningTokens, info);
      }
    } catch (error) {
      yield* parts.close();
      if (abortSignal?.aborted === true) throw error;
      yield { type: "error", error: sdkError(error) };
    } finally {
      await generation.close();
    }
    yield { type: "finish", ...finish };
  }
}

/** Adds a part of a stream to the content of an answer. */
function collect(content: LanguageModelV4Content[], part: LanguageModelV4StreamPart): void {
  switch (part.type) {
    case "text-start":
      content.push({ type: "text", text: "" });
      break;
    case "reasoning-start":
      content.push({ type: "reasoning", text: "" });
      break;
    case "text-delta":
    case "reasoning-delta":
      (content.at(-1) as { text: string }).text += part.delta;
      break;
    case "tool-call":
      content.push(part);
      break;
  }
}
