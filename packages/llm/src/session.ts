import { ArgumentError } from "@centella/core";
import type { ChatMessage } from "./chatTemplate.ts";
import type { Engine } from "./engine.ts";
import { BusyError } from "./errors.ts";
import { type GenerateOptions, type ResolvedGeneration, resolveGeneration } from "./generateOptions.ts";
import { checkRoom, type GenerationFinish, type GenerationPart, generation } from "./generation.ts";
import { checkIds } from "./ids.ts";
import { checkKeys, wholeNumber } from "./options.ts";

/** How a session starts. */
export interface SessionOptions {
  /** The conversation so far, e.g. a system message. */
  readonly messages?: readonly ChatMessage[] | undefined;
}

/**
 * What to generate from: a string (the user's turn of the chat; text to be continued if the model has no chat template
 * or with `raw`), new messages of the chat, or token ids as they are.
 */
export type Prompt = string | readonly ChatMessage[] | { readonly ids: ArrayLike<number> };

/** A prompt's ids, and the conversation that they end, if it is one. */
interface Encoded {
  readonly ids: readonly number[];
  readonly messages: readonly ChatMessage[] | undefined;
}

/**
 * A conversation. It remembers the messages of finished turns; a turn that was aborted, failed or left early is not
 * remembered, so the session goes on from where it was. One generation at a time.
 */
export class Session {
  readonly #engine: Engine;
  #messages: readonly ChatMessage[];
  #isGenerating = false;

  /** Use `model.createSession()`. */
  constructor(engine: Engine, options: SessionOptions) {
    checkKeys("createSession", options, ["messages"]);
    this.#engine = engine;
    this.#messages = [...(options.messages ?? [])];
  }

  /** The conversation: what it was started with and every finished turn. */
  get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  /**
   * Generates text, piece by piece; the last part is the finish. Leaving the loop early or aborting ends the work. Tokens that
   * the prompt shares with what the session computed before are not computed again.
   *
   * Options are checked at the call; everything else happens while iterating.
   * @throws {ArgumentError} at the call; {ContextOverflowError | BusyError | ChatTemplateError | TokenizerError | SamplingError | DisposedError}
   *   and the signal's reason while iterating
   */
  generate(prompt: Prompt, options: GenerateOptions = {}): AsyncGenerator<GenerationPart, void, undefined> {
    return this.#generate(prompt, resolveGeneration(options));
  }

  /** {@link generate} in one go. */
  async complete(prompt: Prompt, options: GenerateOptions = {}): Promise<GenerationFinish> {
    let last: GenerationPart | undefined;
    for await (const part of this.generate(prompt, options)) last = part;
    return last as GenerationFinish;
  }

  /** Starts over with these messages. What is cached stays, so a conversation that begins alike is still quick. */
  reset(messages: readonly ChatMessage[] = []): void {
    this.#requireIdle();
    this.#messages = [...messages];
  }

  /** Another session that goes on from here on its own. What is cached for both is kept once. */
  fork(): Session {
    return new Session(this.#engine, { messages: this.#messages });
  }

  /**
   * Goes back to the first `messageCount` messages. What is cached of them stays.
   * @throws {ArgumentError | BusyError}
   */
  truncate(messageCount: number): void {
    this.#requireIdle();
    this.#messages = this.#messages.slice(0, wholeNumber("truncate", messageCount, 0, this.#messages.length));
  }

  /** Gives the session's part of the cache back. */
  dispose(): void {
    this.#requireIdle();
    this.#engine.pool.free(this);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  async *#generate(prompt: Prompt, options: ResolvedGeneration): AsyncGenerator<GenerationPart, void, undefined> {
    const startedAt = performance.now();
    this.#requireIdle();
    options.signal?.throwIfAborted();
    const { decoder, tokenizer, pool } = this.#engine;
    const { ids: promptIds, messages } = this.#encode(prompt, options);
    checkRoom(promptIds.length, decoder.contextLength);
    const sequence = pool.acquire(this, promptIds.slice(0, -1));
    this.#isGenerating = true;
    try {
      for await (const part of generation({ decoder, tokenizer, sequence, promptIds, options, startedAt })) {
        if (part.type === "finish" && messages !== undefined) {
          this.#messages = [...messages, { role: "assistant", content: part.text }];
        }
        yield part;
      }
    } finally {
      this.#isGenerating = false;
      pool.release(sequence);
    }
  }

  #encode(prompt: Prompt, { raw, chat }: ResolvedGeneration): Encoded {
    const { tokenizer, decoder } = this.#engine;
    if (typeof prompt === "string" && (raw ?? !this.#engine.hasChatTemplate)) {
      const ids = tokenizer.encode(prompt);
      // Text that is to be continued does not end, even where the vocabulary asks for EOS.
      const open = tokenizer.addEos && ids.at(-1) === tokenizer.eosId ? ids.subarray(0, -1) : ids;
      return { ids: checkIds(open, decoder.vocabSize), messages: undefined };
    }
    if (typeof prompt === "string" || Array.isArray(prompt)) {
      const turn = typeof prompt === "string" ? [{ role: "user", content: prompt }] : (prompt as readonly ChatMessage[]);
      const messages = [...this.#messages, ...turn];
      return { ids: checkIds(this.#engine.chatTemplate.encode(tokenizer, messages, chat), decoder.vocabSize), messages };
    }
    if (typeof prompt !== "object" || prompt === null || !("ids" in prompt)) {
      throw new ArgumentError("prompt", "a string, messages or { ids }", prompt === null ? "null" : typeof prompt);
    }
    return { ids: checkIds(prompt.ids, decoder.vocabSize), messages: undefined };
  }

  #requireIdle(): void {
    if (!this.#isGenerating) return;
    throw new BusyError("session: expected no generation under way, got one; finish or leave its loop first, or use another session");
  }
}
