import { ArgumentError } from "@centella/core";
import type { ChatMessage } from "./chatTemplate.ts";
import type { Engine } from "./engine.ts";
import { TokenizerError } from "./errors.ts";
import type { ResolvedGeneration } from "./generateOptions.ts";
import { checkIds } from "./ids.ts";
import { frozenMessages, withTurn } from "./messages.ts";

/** A text with a gap that is to be filled. */
export interface Gap {
  /** What stands before the gap. */
  readonly prefix: string;
  /** What stands behind it. */
  readonly suffix: string;
}

/**
 * What to generate from: a string (the user's turn of the chat; text to be continued if the model has no chat template
 * or with `raw`), new messages of the chat, a gap to fill, or token ids as they are.
 */
export type Prompt = string | readonly ChatMessage[] | Gap | { readonly ids: ArrayLike<number> };

/** A prompt's ids, and the conversation that they end, if it is one. */
export interface EncodedPrompt {
  readonly ids: readonly number[];
  readonly messages: readonly ChatMessage[] | undefined;
}

/** @throws {ArgumentError | ChatTemplateError | TokenizerError} */
export function encodePrompt(engine: Engine, prompt: Prompt, options: ResolvedGeneration, earlier: readonly ChatMessage[]): EncodedPrompt {
  const { tokenizer, decoder } = engine;
  if (typeof prompt === "string" && (options.raw ?? !engine.hasChatTemplate)) {
    const ids = tokenizer.encode(prompt);
    // Text that is to be continued does not end, even where the vocabulary asks for EOS.
    const open = tokenizer.addEos && ids.at(-1) === tokenizer.eosId ? ids.subarray(0, -1) : ids;
    return { ids: checkIds(open, decoder.vocabSize), messages: undefined };
  }
  if (typeof prompt === "string" || Array.isArray(prompt)) {
    const turn = typeof prompt === "string" ? [{ role: "user", content: prompt }] : (prompt as readonly ChatMessage[]);
    const messages = frozenMessages(withTurn(earlier, turn));
    return { ids: encodeChat(engine, messages, options), messages };
  }
  if (typeof prompt === "object" && prompt !== null) {
    if ("ids" in prompt) return { ids: checkIds(prompt.ids, decoder.vocabSize), messages: undefined };
    if ("prefix" in prompt && typeof prompt.prefix === "string" && typeof prompt.suffix === "string")
      return { ids: encodeGap(engine, prompt), messages: undefined };
  }
  throw new ArgumentError("prompt", "a string, messages, { prefix, suffix } or { ids }", prompt === null ? "null" : typeof prompt);
}

/** @throws {ChatTemplateError | TokenizerError} */
export function encodeChat(engine: Engine, messages: readonly ChatMessage[], { chat }: ResolvedGeneration): readonly number[] {
  return checkIds(engine.chatTemplate.encode(engine.tokenizer, messages, chat), engine.decoder.vocabSize);
}

/**
 * Prefix, suffix, middle: the order that llama.cpp's server uses, too.
 * @throws {TokenizerError} if the vocabulary has no tokens for it
 */
function encodeGap({ tokenizer }: Engine, { prefix, suffix }: Gap): readonly number[] {
  const { prefixId, suffixId, middleId } = tokenizer.fillInMiddle;
  if (prefixId === undefined || suffixId === undefined || middleId === undefined) {
    throw new TokenizerError(
      "prompt: expected a vocabulary with tokens for prefix, suffix and middle, got none; this model was not trained to fill gaps",
    );
  }
  const text = (part: string): Iterable<number> => tokenizer.encode(part, { addSpecial: false });
  return [...(tokenizer.addBos ? [tokenizer.bosId!] : []), prefixId, ...text(prefix), suffixId, ...text(suffix), middleId];
}
