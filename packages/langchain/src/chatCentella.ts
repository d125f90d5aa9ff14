import type { GenerationFinish, GenerationPart } from "@centella/llm";
import { type EngineModel, loadedModel } from "@centella/llm/engine";
import { check, checkKeys, object } from "@centella/quant/checks";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseLanguageModelInput, StructuredOutputMethodOptions } from "@langchain/core/language_models/base";
import {
  BaseChatModel,
  type BaseChatModelParams,
  type BindToolsInput,
  type LangSmithParams,
} from "@langchain/core/language_models/chat_models";
import type { ModelProfile } from "@langchain/core/language_models/profile";
import {
  assembleStructuredOutputPipeline,
  createContentParser,
  createFunctionCallingParser,
} from "@langchain/core/language_models/structured_output";
import type { AIMessageChunk, BaseMessage, MessageContent } from "@langchain/core/messages";
import type { ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import type { Runnable } from "@langchain/core/runnables";
import { toJsonSchema } from "@langchain/core/utils/json_schema";
import { isSerializableSchema, type SerializableSchema } from "@langchain/core/utils/standard_schema";
import { getSchemaDescription, type InteropZodType, isInteropZodSchema } from "@langchain/core/utils/types";
import { type CentellaCallOptions, type EngineOptions, engineOptionNames, engineOptions, pickEngineOptions } from "./callOptions.ts";
import { chatMessages, textOf } from "./chatMessages.ts";
import { chunkOf, lastChunk, messageOf } from "./chunks.ts";
import { retryIfBusy } from "./retries.ts";

/** Fields of a {@link ChatCentella}. The engine's options are defaults of its calls. */
export interface ChatCentellaFields extends BaseChatModelParams, EngineOptions {
  /** A model that is loaded, in this thread or in a worker. */
  readonly model: EngineModel;
}

/** Fields of LangChain's chat models by name. */
const baseNames: Readonly<Record<keyof BaseChatModelParams, true>> = {
  cache: true,
  callbackManager: true,
  callbacks: true,
  disableStreaming: true,
  maxConcurrency: true,
  maxRetries: true,
  metadata: true,
  onFailedAttempt: true,
  outputVersion: true,
  tags: true,
  verbose: true,
};

// biome-ignore lint/suspicious/noExplicitAny: LangChain's own bound.
type StructuredValue = Record<string, any>;
type StructuredSchema<Output extends StructuredValue> = InteropZodType<Output> | SerializableSchema<Output> | StructuredValue;

/** A chat model of LangChain over a loaded model: text, reasoning, calls of tools and structured output. */
export class ChatCentella extends BaseChatModel<CentellaCallOptions> {
  static override lc_name(): string {
    return "ChatCentella";
  }

  readonly #model: EngineModel;
  readonly #options: EngineOptions;

  /** @throws {ArgumentError} for an unknown field; calls check the values of options */
  constructor(fields: ChatCentellaFields) {
    check("ChatCentella", "fields", fields, object);
    checkKeys("ChatCentella", fields, ["model", ...engineOptionNames, ...Object.keys(baseNames)]);
    check("ChatCentella", "model", fields.model, loadedModel, "load it with loadModel");
    super({ onFailedAttempt: retryIfBusy, ...fields });
    this.#model = fields.model;
    this.#options = pickEngineOptions(fields);
  }

  override get callKeys(): string[] {
    return [...super.callKeys, ...engineOptionNames, "tools", "response_format"];
  }

  /** What agents can count on. */
  override get profile(): ModelProfile {
    const { contextLength: maxInputTokens } = this.#model.info;
    return { maxInputTokens, imageInputs: false, audioInputs: false, toolCalling: true, toolChoice: true, structuredOutput: true };
  }

  override _llmType(): string {
    return "centella";
  }

  override getLsParams(options: this["ParsedCallOptions"]): LangSmithParams {
    const { temperature, maxTokens } = this.#engineOptions(options);
    return {
      ls_provider: "centella",
      ls_model_name: this.#model.info.name,
      ls_model_type: "chat",
      ...(temperature !== undefined && { ls_temperature: temperature }),
      ...(maxTokens !== undefined && { ls_max_tokens: maxTokens }),
    };
  }

  override invocationParams(options?: this["ParsedCallOptions"]): Record<string, unknown> {
    const { signal: _, ...params } = this.#engineOptions(options ?? ({} as this["ParsedCallOptions"]));
    return { model: this.#model.info.name, ...params };
  }

  /** Counts the tokens of a text by the model's own tokenizer. */
  override async getNumTokens(content: MessageContent): Promise<number> {
    return (await this.#model.tokenizer.encode(textOf(content))).length;
  }

  override bindTools(
    tools: BindToolsInput[],
    options: Partial<CentellaCallOptions> = {},
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, CentellaCallOptions> {
    return this.withConfig({ ...options, tools });
  }

  /**
   * Answers that are valid under a schema, which is enforced while they are written. `method: "functionCalling"` has the model call a tool
   * with the answer as its arguments instead.
   */
  override withStructuredOutput<Output extends StructuredValue>(
    schema: StructuredSchema<Output>,
    options?: StructuredOutputMethodOptions<false>,
  ): Runnable<BaseLanguageModelInput, Output>;
  override withStructuredOutput<Output extends StructuredValue>(
    schema: StructuredSchema<Output>,
    options?: StructuredOutputMethodOptions<true>,
  ): Runnable<BaseLanguageModelInput, { raw: BaseMessage; parsed: Output }>;
  override withStructuredOutput<Output extends StructuredValue>(
    schema: StructuredSchema<Output>,
    options: StructuredOutputMethodOptions<boolean> = {},
  ): Runnable<BaseLanguageModelInput, Output> | Runnable<BaseLanguageModelInput, { raw: BaseMessage; parsed: Output }> {
    const { method = "jsonSchema", includeRaw = false, name = "StructuredOutput" } = options;
    const plain = isInteropZodSchema(schema) || isSerializableSchema(schema) ? toJsonSchema(schema) : schema;
    if (method === "functionCalling") {
      const { name: tool = "extract" } = options;
      const answer = { type: "function", function: { name: tool, description: getSchemaDescription(schema), parameters: plain } };
      const calling = this.bindTools([answer], { tool_choice: tool, parallelToolCalls: false });
      return assembleStructuredOutputPipeline(calling, createFunctionCallingParser<Output>(schema, tool), includeRaw, name);
    }
    const answering = this.withConfig({ format: { schema: plain } as NonNullable<EngineOptions["format"]> });
    return assembleStructuredOutputPipeline(answering, createContentParser<Output>(schema), includeRaw, name);
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    let finish: GenerationFinish | undefined;
    let reasoningTokens = 0;
    for await (const part of this.#parts(messages, options)) {
      if (part.type === "finish") finish = part;
      else if (part.type === "reasoning") reasoningTokens += part.ids.length;
    }
    const message = messageOf(finish!, reasoningTokens, this.#model.info);
    return {
      generations: [{ text: finish!.text, message }],
      llmOutput: { tokenUsage: { promptTokens: finish!.usage.promptTokens, completionTokens: finish!.usage.completionTokens } },
    };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    let reasoningTokens = 0;
    for await (const part of this.#parts(messages, options)) {
      if (part.type === "reasoning") reasoningTokens += part.ids.length;
      const chunk = part.type === "finish" ? lastChunk(part, reasoningTokens, this.#model.info) : chunkOf(part);
      if (chunk === undefined) continue;
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  /** Sessions share the beginnings of their prompts, so a conversation needs none of its own. A generation that finds a full queue is tried again. */
  async *#parts(messages: readonly BaseMessage[], options: this["ParsedCallOptions"]): AsyncGenerator<GenerationPart, void, undefined> {
    const start = async () => {
      const parts = this.#model.createSession().generate(chatMessages(messages), this.#engineOptions(options));
      return { parts, first: await parts.next() };
    };
    const { parts, first } = await this.caller.call(start);
    try {
      if (first.done !== true) yield first.value;
      yield* parts;
    } finally {
      await parts.return();
    }
  }

  #engineOptions(options: this["ParsedCallOptions"]) {
    return engineOptions(this.#options, options as CentellaCallOptions);
  }
}
