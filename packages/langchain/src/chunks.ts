import type { GenerationFinish, GenerationPart, ModelInfo } from "@centella/llm";
import { AIMessage, AIMessageChunk, type UsageMetadata } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";

/** A part of a generation as a chunk; undefined for parts that LangChain has no form for. */
export function chunkOf(part: Exclude<GenerationPart, GenerationFinish>): ChatGenerationChunk | undefined {
  switch (part.type) {
    case "text":
      return chunk({ content: part.text });
    case "reasoning":
      return chunk({ content: "", additional_kwargs: { reasoning_content: part.text } });
    case "commentary":
      // Harmony's messages to tools are no text for the user.
      return part.recipient === undefined ? chunk({ content: part.text }) : undefined;
    case "toolCall": {
      const { id, name, index, argumentsDelta: args, isFirst } = part;
      return chunk({ content: "", tool_call_chunks: [{ type: "tool_call_chunk", index, args, ...(isFirst && { id, name }) }] });
    }
    case "prefill":
      return undefined;
  }
}

/** The last chunk: usage and metadata. */
export function lastChunk(finish: GenerationFinish, reasoningTokens: number, info: ModelInfo): ChatGenerationChunk {
  const message = new AIMessageChunk({ content: "", response_metadata: metadataOf(finish, info) });
  return new ChatGenerationChunk({ text: "", message: withUsage(message, finish, reasoningTokens) });
}

/** A finished generation as a message. */
export function messageOf(finish: GenerationFinish, reasoningTokens: number, info: ModelInfo): AIMessage {
  const { text, reasoning, toolCalls = [] } = finish;
  const message = new AIMessage({
    content: text,
    tool_calls: toolCalls.map(({ id, name, arguments: args }) => ({ type: "tool_call", id, name, args: args as Record<string, unknown> })),
    additional_kwargs: reasoning === undefined ? {} : { reasoning_content: reasoning },
    response_metadata: metadataOf(finish, info),
  });
  return withUsage(message, finish, reasoningTokens);
}

function chunk(fields: ConstructorParameters<typeof AIMessageChunk>[0] & { readonly content: string }): ChatGenerationChunk {
  return new ChatGenerationChunk({ text: fields.content, message: new AIMessageChunk(fields) });
}

/** Adds the token counts. The type of the field wants a structure of messages that models without metadata of their own lack. */
function withUsage<Message extends AIMessage | AIMessageChunk>(message: Message, finish: GenerationFinish, reasoning: number): Message {
  return Object.assign(message, { usage_metadata: usageOf(finish, reasoning) });
}

function usageOf({ usage }: GenerationFinish, reasoning: number): UsageMetadata {
  const { promptTokens, cachedTokens, completionTokens } = usage;
  return {
    input_tokens: promptTokens,
    output_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    input_token_details: { cache_read: cachedTokens },
    output_token_details: { reasoning },
  };
}

function metadataOf({ reason, seed, timings, warnings, complete, logprobs }: GenerationFinish, info: ModelInfo): Record<string, unknown> {
  return {
    model_provider: "centella",
    model_name: info.name,
    backend: info.backend,
    finish_reason: reason === "toolCalls" ? "tool_calls" : reason === "length" ? "length" : "stop",
    seed,
    timings,
    ...(warnings && { warnings }),
    ...(complete !== undefined && { complete }),
    ...(logprobs && { logprobs }),
  };
}
