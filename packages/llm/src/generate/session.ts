import { checkOptions } from "@centella/quant/checks";
import type { RestoreOptions, SaveOptions } from "../cache/saveOptions.ts";
import { savingKinds } from "../cache/saveOptions.ts";
import { type ChatMessage, checkMessages } from "../chat/chatMessages.ts";
import { frozenMessages, withAnswer, withPartialAnswer } from "../chat/messages.ts";
import type { ReasoningFormat } from "../chat/reasoning.ts";
import type { Engine } from "../model/engine.ts";
import { wholeNumber } from "../options.ts";
import { type GenerateOptions, type ResolvedGeneration, resolveGeneration, resolveOverflow } from "./generateOptions.ts";
import { Generation } from "./generation.ts";
import type { GenerationFinish, GenerationPart } from "./generationParts.ts";
import { type Prompt, preparePrompt } from "./prompt.ts";
import type { SessionOptions } from "./sessionOptions.ts";
import { sessionKinds } from "./sessionOptions.ts";
import { finishOf, Turns } from "./sessionRules.ts";

/** How a session starts. */
/**
 * A conversation. It remembers the messages of finished turns. A turn that failed is not remembered, so the session goes on from where it was;
 * `onAbort` says what becomes of one that was aborted or left early. Turns run one after the other.
 */
export class Session {
  readonly #engine: Engine;
  readonly #turns: Turns;
  #messages: readonly ChatMessage[];
  /** Tokens of which keys and values were computed last. */
  #computed: readonly number[] = [];
  /** Which private blocks of the cache the session may read; see `Block.scope`. */
  #scope: object | undefined;

  /** Use `model.createSession()`. */
  constructor(engine: Engine, options: SessionOptions) {
    checkOptions("createSession", options, sessionKinds);
    this.#engine = engine;
    this.#turns = new Turns(engine.maxWaiting);
    this.#messages = frozenMessages(checkMessages("createSession", options.messages ?? []));
  }

  /**
   * Use `model.restoreSession()`.
   * @throws {SnapshotError | ArgumentError | BusyError | DisposedError}; the signal's reason
   */
  static async restore(engine: Engine, bytes: Uint8Array, options: RestoreOptions): Promise<Session> {
    checkOptions("restoreSession", options, savingKinds);
    const { readSession } = await import("../cache/savedSession.ts");
    const { messages, load } = await readSession(engine, bytes, options);
    const session = new Session(engine, { messages });
    session.#scope = options.key === undefined ? {} : undefined;
    session.#computed = await load(session, session.#scope);
    return session;
  }

  /** The conversation: what it was started with and every finished turn. Frozen; the next turn makes another list. */
  get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  /**
   * Generates text, piece by piece; the last part is the finish. Leaving the loop early or aborting ends the work. Tokens that
   * the prompt shares with what the session computed before are not computed again.
   *
   * Messages that end with an assistant's message are continued: the answer goes on where that message ends, and the session remembers both as
   * one message.
   *
   * Nothing is computed while no part is asked for. A stream that is not read for a while lets requests of other sessions go first.
   *
   * Options are checked at the call; everything else happens while iterating.
   * @throws {ArgumentError} at the call; {ContextOverflowError | BusyError | ChatTemplateError | TokenizerError | SamplingError | DisposedError}
   *   and the signal's reason while iterating
   */
  generate(prompt: Prompt, options: GenerateOptions = {}): AsyncGenerator<GenerationPart, void, undefined> {
    return this.#generate(prompt, this.#resolve(options), true);
  }

  /** {@link generate} in one go. */
  async complete(prompt: Prompt, options: GenerateOptions = {}): Promise<GenerationFinish> {
    return finishOf(this.#generate(prompt, this.#resolve(options), false));
  }

  /**
   * Starts over with these messages. What is cached stays, so a conversation that begins alike is still quick.
   * @throws {BusyError | DisposedError | ArgumentError}
   */
  reset(messages: readonly ChatMessage[] = []): void {
    this.#requireIdle();
    this.#messages = frozenMessages(checkMessages("reset", messages));
  }

  /** Another session that goes on from here on its own. What is cached for both is kept once. @throws {DisposedError} */
  fork(): Session {
    this.#requireOpen();
    const fork = new Session(this.#engine, { messages: this.#messages });
    fork.#computed = this.#computed;
    fork.#scope = this.#scope;
    return fork;
  }

  /**
   * Goes back to the first `messageCount` messages. What is cached of them stays.
   * @throws {ArgumentError | BusyError | DisposedError}
   */
  truncate(messageCount: number): void {
    this.#requireIdle();
    this.#messages = frozenMessages(this.#messages.slice(0, wholeNumber("truncate", messageCount, 0, this.#messages.length)));
  }

  /**
   * The conversation and what is cached of it, as bytes for `model.restoreSession`, in this process or another, on this backend or another. What
   * was pushed out of the cache meanwhile is left out: it is computed again when it is needed. With a key, so is what this model did not compute
   * but took from a snapshot without one.
   * @throws {ArgumentError | BusyError | DisposedError | UnsupportedError}; the signal's reason
   */
  async save(options: SaveOptions = {}): Promise<Uint8Array> {
    checkOptions("save", options, savingKinds);
    return this.#engine.use(async () => {
      const end = await this.#turns.begin({ isStream: false, signal: options.signal });
      try {
        const { saveSession } = await import("../cache/savedSession.ts");
        const scope = options.key === undefined ? this.#scope : undefined;
        return await saveSession(this.#engine, { owner: this, scope, ids: this.#computed, messages: this.#messages }, options);
      } finally {
        end();
      }
    }, options.signal);
  }

  /** Gives the session's part of the cache back. The session is dead afterwards. @throws {BusyError} in the middle of a turn */
  dispose(): void {
    this.#turns.close();
    this.#engine.pool.free(this);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #resolve(options: GenerateOptions): ResolvedGeneration {
    return resolveGeneration(options, this.#engine.sampling);
  }

  #requireOpen(): void {
    this.#engine.requireAlive();
    this.#turns.requireOpen();
  }

  #requireIdle(): void {
    this.#engine.requireAlive();
    this.#turns.requireIdle();
  }

  async *#generate(prompt: Prompt, options: ResolvedGeneration, isStream: boolean): AsyncGenerator<GenerationPart, void, undefined> {
    const startedAt = performance.now();
    this.#engine.requireAlive();
    const end = await this.#turns.begin({ isStream, signal: options.signal });
    try {
      yield* this.#answer(prompt, options, startedAt);
    } catch (error) {
      throw this.#engine.failure(error, options.signal);
    } finally {
      end();
    }
  }

  async *#answer(prompt: Prompt, options: ResolvedGeneration, startedAt: number): AsyncGenerator<GenerationPart, void, undefined> {
    this.#engine.requireLogits("generate");
    const { decoder, tokenizer, pool } = this.#engine;
    const overflow = resolveOverflow(options, decoder.contextLength);
    const { fitted, messages, begun, warnings } = await preparePrompt(this.#engine, prompt, options, overflow, this.#messages);
    const format = this.#reasoningFormat(options, messages !== undefined);
    const reasoning = format && (await (await import("../chat/chatTemplate.ts")).separationOf(format));
    const openSequence = () => pool.acquire(this, fitted.ids.slice(0, -1), { scope: this.#scope, signal: options.signal });
    const context = { decoder, tokenizer, openSequence, prompt: fitted, options, overflow, reasoning, begun, warnings, startedAt };
    const generation = new Generation(context);
    let isOver = false;
    try {
      for await (const part of generation.parts()) {
        if (part.type === "finish") {
          isOver = true;
          this.#remember(messages, part.reason === "aborted" ? withPartialAnswer : withAnswer, generation);
        }
        const { sequence } = generation;
        if (sequence !== undefined) pool.pause(sequence);
        yield part;
        if (sequence !== undefined) pool.resume(sequence);
      }
    } catch (error) {
      isOver = true;
      throw error;
    } finally {
      if (!isOver && options.onAbort === "keep") this.#remember(messages, withPartialAnswer, generation);
      const { sequence } = generation;
      if (sequence !== undefined) {
        this.#computed = [...sequence.ids];
        pool.release(sequence);
      }
    }
  }

  /** Adds a turn to the conversation, unless the prompt was none of a chat. */
  #remember(messages: readonly ChatMessage[] | undefined, add: typeof withAnswer, { answer }: Generation): void {
    if (messages !== undefined) this.#messages = frozenMessages(add(messages, answer));
  }

  #reasoningFormat({ reasoning }: ResolvedGeneration, isChat: boolean): ReasoningFormat | undefined {
    if (reasoning === false) return undefined;
    if (reasoning !== "auto") return reasoning;
    return isChat ? this.#engine.chatTemplate.reasoning : undefined;
  }
}
