import type { ChatMessage } from "./chatTemplate.ts";
import type { Engine } from "./engine.ts";
import { type GenerateOptions, type ResolvedGeneration, resolveGeneration, resolveOverflow } from "./generateOptions.ts";
import { type GenerationFinish, type GenerationPart, generation } from "./generation.ts";
import { checkKeys, wholeNumber } from "./options.ts";
import { fitPrompt } from "./overflow.ts";
import { encodeChat, encodePrompt, type Prompt } from "./prompt.ts";
import type { ReasoningFormat } from "./reasoning.ts";
import { finishOf, requireIdle } from "./sessionRules.ts";
import type { SnapshotTarget } from "./snapshot.ts";

/** How a session starts. */
export interface SessionOptions {
  /** The conversation so far, e.g. a system message. */
  readonly messages?: readonly ChatMessage[] | undefined;
}

/**
 * A conversation. It remembers the messages of finished turns; a turn that was aborted, failed or left early is not
 * remembered, so the session goes on from where it was. One generation at a time.
 */
export class Session {
  readonly #engine: Engine;
  #messages: readonly ChatMessage[];
  /** Tokens of which keys and values were computed last. */
  #computed: readonly number[] = [];
  #isGenerating = false;

  /** Use `model.createSession()`. */
  constructor(engine: Engine, options: SessionOptions) {
    checkKeys("createSession", options, ["messages"]);
    this.#engine = engine;
    this.#messages = [...(options.messages ?? [])];
  }

  /**
   * Use `model.restoreSession()`.
   * @throws {SnapshotError | BusyError}
   */
  static async restore(engine: Engine, bytes: Uint8Array): Promise<Session> {
    const { decodeSnapshot } = await import("./snapshot.ts");
    const target = await snapshotTarget(engine);
    const { ids, rows, stateRows, messages } = decodeSnapshot(bytes, target);
    const { pool, decoder, recurrence } = engine;
    const transfer = await engine.transfer;
    const session = new Session(engine, { messages });
    // A state stands behind all of its tokens, so of a longer text than fits nothing is of use.
    const fitting = recurrence === undefined || ids.length <= decoder.contextLength ? ids.slice(0, decoder.contextLength) : [];
    const sequence = pool.acquire(session, fitting);
    try {
      const start = sequence.ids.length;
      const missing = fitting.slice(start);
      const parts = target.layers.map(({ elements }, i) => rows[i]!.subarray(start * elements, fitting.length * elements));
      if (missing.length > 0) {
        await transfer.write(sequence.reserve(missing.length), parts);
        await recurrence?.write(sequence.stateRow!, stateRows);
        sequence.append(missing);
      }
      session.#computed = fitting;
    } finally {
      pool.release(sequence);
    }
    return session;
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
    return this.#generate(prompt, resolveGeneration(options, this.#engine.sampling));
  }

  /** {@link generate} in one go. */
  async complete(prompt: Prompt, options: GenerateOptions = {}): Promise<GenerationFinish> {
    return finishOf(this.generate(prompt, options));
  }

  /** Starts over with these messages. What is cached stays, so a conversation that begins alike is still quick. */
  reset(messages: readonly ChatMessage[] = []): void {
    requireIdle(this.#isGenerating);
    this.#messages = [...messages];
  }

  /** Another session that goes on from here on its own. What is cached for both is kept once. */
  fork(): Session {
    const fork = new Session(this.#engine, { messages: this.#messages });
    fork.#computed = this.#computed;
    return fork;
  }

  /**
   * Goes back to the first `messageCount` messages. What is cached of them stays.
   * @throws {ArgumentError | BusyError}
   */
  truncate(messageCount: number): void {
    requireIdle(this.#isGenerating);
    this.#messages = this.#messages.slice(0, wholeNumber("truncate", messageCount, 0, this.#messages.length));
  }

  /**
   * The conversation and what is cached of it, as bytes for `model.restoreSession`, in this process or another, on this backend or another. What was
   * pushed out of the cache meanwhile is left out: it is computed again when it is needed.
   * @throws {BusyError | DisposedError}
   */
  async save(): Promise<Uint8Array> {
    requireIdle(this.#isGenerating);
    const { pool, recurrence } = this.#engine;
    const { encodeSnapshot } = await import("./snapshot.ts");
    const target = await snapshotTarget(this.#engine);
    const transfer = await this.#engine.transfer;
    const sequence = pool.acquire(this, this.#computed);
    this.#isGenerating = true;
    try {
      const ids = [...sequence.ids];
      const rows = await transfer.read(sequence.slots(0, ids.length));
      const stateRows = ids.length === 0 ? [] : ((await recurrence?.read(sequence.stateRow!)) ?? []);
      return encodeSnapshot({ ...target, messages: this.#messages, ids, rows, stateRows });
    } finally {
      this.#isGenerating = false;
      pool.release(sequence);
    }
  }

  /** Gives the session's part of the cache back. */
  dispose(): void {
    requireIdle(this.#isGenerating);
    this.#engine.pool.free(this);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  async *#generate(prompt: Prompt, options: ResolvedGeneration): AsyncGenerator<GenerationPart, void, undefined> {
    const startedAt = performance.now();
    requireIdle(this.#isGenerating);
    options.signal?.throwIfAborted();
    this.#engine.requireLogits("generate");
    const { decoder, tokenizer, pool } = this.#engine;
    const { ids, messages } = encodePrompt(this.#engine, prompt, options, this.#messages);
    const overflow = resolveOverflow(options, decoder.contextLength);
    const chat = messages && { messages, encode: (shorter: readonly ChatMessage[]) => encodeChat(this.#engine, shorter, options) };
    const fitted = fitPrompt(ids, { contextLength: decoder.contextLength, overflow, ...(chat && { chat }) });
    const format = this.#reasoningFormat(options, messages !== undefined);
    const sequence = pool.acquire(this, fitted.ids.slice(0, -1));
    this.#isGenerating = true;
    try {
      const reasoning = format && (await (await import("./chatTemplate.ts")).separationOf(format));
      for await (const part of generation({ decoder, tokenizer, sequence, prompt: fitted, options, overflow, reasoning, startedAt })) {
        if (part.type === "finish" && messages !== undefined) {
          // The name that chat templates look for.
          const thought = part.reasoning ? { reasoning_content: part.reasoning } : {};
          this.#messages = [...messages, { role: "assistant", content: part.text, ...thought }];
        }
        yield part;
      }
    } finally {
      this.#isGenerating = false;
      this.#computed = [...sequence.ids];
      pool.release(sequence);
    }
  }

  #reasoningFormat({ reasoning }: ResolvedGeneration, isChat: boolean): ReasoningFormat | undefined {
    if (reasoning === false) return undefined;
    if (reasoning !== "auto") return reasoning;
    return isChat ? this.#engine.chatTemplate.reasoning : undefined;
  }
}

async function snapshotTarget({ identity, cacheType, transfer, recurrence, decoder }: Engine): Promise<SnapshotTarget> {
  const states = recurrence?.rowSizes ?? [];
  return { model: await identity, cacheType, layers: (await transfer).rowSizes, states, vocabSize: decoder.vocabSize };
}
