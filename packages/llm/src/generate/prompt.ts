import { ArgumentError } from "@centella/core";
import { describe } from "@centella/quant/checks";
import type { ChatOptions } from "../chat/chatOptions.ts";
import { frozenMessages, isOpenAnswer, withTurn } from "../chat/conversation.ts";
import { type ChatMessage, checkMessages, textOf } from "../chat/messages.ts";
import { maxCountedTokens } from "../errors.ts";
import type { ModelContext } from "../model/modelContext.ts";
import { checkIds, withBos } from "../tokenizer/tokenIds.ts";
import type { EncodeAsyncOptions } from "../tokenizer/tokenizer.ts";
import type { ToolFormat } from "../tools/formats/toolFormat.ts";
import type { PlainTool } from "../tools/tools.ts";
import type { ResolvedGeneration } from "./generateOptions.ts";
import type { FittedPrompt, ResolvedOverflow, Shortening } from "./overflow.ts";
import type { Prompt } from "./promptInput.ts";

/** A prompt that fits into the context. */
export interface PreparedPrompt {
  readonly fitted: FittedPrompt;
  /** The whole conversation, if the prompt is a turn of a chat. */
  readonly messages: readonly ChatMessage[] | undefined;
  /** Text of the last message if the answer continues it. */
  readonly begun: string | undefined;
  /** Changes that were made to the messages; see `PreparedChat.warnings`. */
  readonly warnings: readonly string[];
}

/** What a prompt depends on besides the options. */
export interface PromptContext {
  readonly overflow: ResolvedOverflow;
  /** The conversation so far. */
  readonly earlier: readonly ChatMessage[];
  /** Tools that the prompt describes, and their format. */
  readonly tools: { readonly all: readonly PlainTool[]; readonly format: ToolFormat } | undefined;
}

/**
 * Encodes a prompt and shortens it by the overflow policy. Encoding a long text yields to other work of the thread, and stops early if the
 * text is far too long.
 * @throws {ArgumentError | ChatTemplateError | TokenizerError | ContextOverflowError}; the signal's reason
 */
export async function preparePrompt(
  model: ModelContext,
  prompt: Prompt,
  options: ResolvedGeneration,
  { overflow, earlier, tools }: PromptContext,
): Promise<PreparedPrompt> {
  const { contextLength, vocabSize } = model.scheduler;
  const maxTokens = overflow.prompt === "error" ? maxCountedTokens(contextLength) : undefined;
  // An aborted turn that is kept reports the ids of its prompt.
  const encoding = { maxTokens, signal: options.onAbort === "keep" ? undefined : options.signal };
  const plain = { messages: undefined, begun: undefined, warnings: [] };
  const isRaw = options.raw ?? !model.hasChatTemplate;
  if (!isMessages(prompt) && (typeof prompt !== "string" || isRaw)) {
    const ids = checkIds(await encodePlain(model, prompt, encoding), vocabSize);
    return { ...plain, fitted: await fitPrompt(ids, { contextLength, overflow }) };
  }
  const turn = typeof prompt === "string" ? [{ role: "user", content: prompt }] : checkMessages("generate", prompt);
  const messages = frozenMessages(withTurn(earlier, turn));
  const last = messages.at(-1);
  const begun = isOpenAnswer(last) ? textOf(last.content) : undefined;
  let warnings: readonly string[] = [];
  const encode = async (shown: readonly ChatMessage[]): Promise<readonly number[]> => {
    const { messages: rendered, chat, suffix } = await adaptedChat(model, shown, options, tools);
    const {
      text,
      specialSpans,
      warnings: found,
    } = model.chatTemplate.prepare(rendered, { ...chat, continueFinalMessage: begun !== undefined });
    warnings = found;
    const { tokenizer } = model;
    const parseSpecial = suffix === "" ? specialSpans : [...specialSpans, [text.length, text.length + suffix.length] as const];
    const ids = await tokenizer.encodeAsync(text + suffix, { addSpecial: false, parseSpecial, ...encoding });
    return checkIds(withBos(tokenizer, ids), vocabSize);
  };
  const fitted = await fitPrompt(await encode(messages), { contextLength, overflow, chat: { messages, encode } });
  return { fitted, messages, begun, warnings };
}

/** What is rendered: with tools, calls and results as the template knows them, and with its switches of reasoning. */
interface AdaptedChat {
  readonly messages: readonly ChatMessage[];
  readonly chat: ChatOptions;
  /** Text after the rendered prompt. */
  readonly suffix: string;
}

/** Adapts messages and options to the template. The code is loaded on demand. */
async function adaptedChat(
  { chatTemplate }: ModelContext,
  shown: readonly ChatMessage[],
  { chat: given, control }: ResolvedGeneration,
  tools: PromptContext["tools"],
): Promise<AdaptedChat> {
  let [messages, chat, suffix] = [shown, given, ""];
  if (tools !== undefined || messages.some(({ role, tool_calls: calls }) => role === "tool" || calls !== undefined)) {
    const { toolPrompt } = await import("../tools/toolCalls.ts");
    ({ messages, chat } = toolPrompt({ messages, chat }, chatTemplate, { tools: tools?.all, format: tools?.format }));
  }
  if (control?.effort !== undefined || control?.off === true) {
    const { controlReasoning } = await import("../chat/reasoningControl.ts");
    ({ chat, suffix } = controlReasoning(control, chatTemplate, messages, chat));
  }
  return { messages, chat, suffix };
}

/** Applies the overflow policy to a prompt. @throws {ContextOverflowError} if the prompt leaves no room and the policy cannot shorten it */
async function fitPrompt(ids: readonly number[], shortening: Shortening): Promise<FittedPrompt> {
  if (ids.length < shortening.contextLength) return { ids, droppedMessages: 0, truncatedTokens: 0 };
  const { shortenPrompt } = await import("./shortenPrompt.ts");
  return shortenPrompt(ids, shortening);
}

function isMessages(prompt: Prompt): prompt is readonly ChatMessage[] {
  return Array.isArray(prompt);
}

/** Encodes a prompt that is not a turn of a chat. */
async function encodePlain(
  model: ModelContext,
  prompt: Exclude<Prompt, readonly ChatMessage[]>,
  encoding: Pick<EncodeAsyncOptions, "maxTokens" | "signal">,
): Promise<ArrayLike<number>> {
  if (typeof prompt === "string") {
    const { tokenizer } = model;
    const ids = await tokenizer.encodeAsync(prompt, { parseSpecial: [], ...encoding });
    // A text to continue has no EOS, even if the vocabulary adds one. One that an encoder reads is whole.
    return model.decoderStart === undefined && tokenizer.addEos && ids.at(-1) === tokenizer.eosId ? ids.subarray(0, -1) : ids;
  }
  if (typeof prompt === "object" && prompt !== null) {
    if ("ids" in prompt) return prompt.ids;
    if ("prefix" in prompt && typeof prompt.prefix === "string" && typeof prompt.suffix === "string") {
      const { encodeGap } = await import("./gap.ts");
      return encodeGap(model.tokenizer, prompt, encoding);
    }
  }
  throw new ArgumentError("prompt", "a string, messages, { prefix, suffix } or { ids }", describe(prompt));
}
