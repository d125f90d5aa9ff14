import { type UseChatHelpers, useChat } from "@ai-sdk/react";
import { centellaModel, type LoadableModel } from "@centella/ai-sdk";
import type { GenerationPart, Timings, Usage } from "@centella/llm";
import {
  type ChatInit,
  DirectChatTransport,
  type InferUITools,
  type TextStreamPart,
  ToolLoopAgent,
  type ToolLoopAgentSettings,
  type ToolSet,
  type UIMessage,
} from "ai";

/** Metadata of an answer. In an answer of several steps, all of it is about the last one so far. */
export interface ChatMetadata {
  /** Progress of the prompt: how many of its tokens are in the cache, and how many there are. */
  readonly prefill?: { readonly done: number; readonly total: number };
  /** Times of the answer, when it is complete. */
  readonly timings?: Timings;
  /** Token counts of the answer, when it is complete. */
  readonly usage?: Usage;
  /** Repeats the answer with the same messages and options, when it is complete. */
  readonly seed?: number;
}

/** A message of {@link useCentellaChat}. */
export type ChatMessage<Tools extends ToolSet = ToolSet> = UIMessage<ChatMetadata, never, InferUITools<Tools>>;

/** Options of {@link useCentellaChat}: those of `useChat` without its transport, and the agent that answers. */
export interface CentellaChatOptions<Tools extends ToolSet> extends Omit<ChatInit<ChatMessage<Tools>>, "transport"> {
  /** Instructions, tools, sampling options and all else that `ToolLoopAgent` takes, but the model. */
  readonly agent?: Omit<ToolLoopAgentSettings<never, Tools>, "model">;
  /** Least time between two renders of a text that is being written, in ms. Default: one render for each piece. */
  readonly throttle?: number;
}

/**
 * `useChat` of the AI SDK with a model of the page: the result of `useModel`, or a store. It is loaded by the first message, if it is not yet.
 *
 * Options are read at each message, so they may change between renders. An answer ends when its component is unmounted.
 */
export function useCentellaChat<Tools extends ToolSet = ToolSet>(
  model: LoadableModel,
  { agent: settings, ...options }: CentellaChatOptions<Tools> = {},
): UseChatHelpers<ChatMessage<Tools>> {
  const own = { include: { ...settings?.include, rawChunks: true }, model: centellaModel(model) };
  // TypeScript does not resolve the conditional types of settings while `Tools` is open.
  const agent = new ToolLoopAgent({ ...settings, ...own } as unknown as ToolLoopAgentSettings<never, Tools>);
  const transport = new DirectChatTransport({ agent, messageMetadata, onError });
  return useChat<ChatMessage<Tools>>({ ...options, transport });
}

function messageMetadata({ part }: { readonly part: TextStreamPart<ToolSet> }): ChatMetadata | undefined {
  if (part.type !== "raw") return undefined;
  // Raw parts are those of the engine.
  const raw = part.rawValue as GenerationPart;
  if (raw.type === "prefill") return { prefill: { done: raw.done, total: raw.total } };
  return raw.type === "finish" ? { timings: raw.timings, usage: raw.usage, seed: raw.seed } : undefined;
}

/** The text of an error in an answer. The page is the user's own, so nothing has to be hidden from it. */
function onError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
