import { UnsupportedError } from "@centella/core";
import { checkOptions, checkValue, whole } from "@centella/quant/checks";
import type { RestoreOptions, SaveOptions } from "../cache/saveOptions.ts";
import { savingKinds } from "../cache/saveOptions.ts";
import { frozenMessages, withAnswer, withPartialAnswer } from "../chat/conversation.ts";
import { type ChatMessage, checkMessages } from "../chat/messages.ts";
import type { ReasoningFormat, Separation } from "../chat/reasoning.ts";
import type { AnswerConstraint, ConstraintContext } from "../format/answerConstraint.ts";
import type { AnswerFormat } from "../format/answerFormat.ts";
import type { FormatValue } from "../format/schemaTypes.ts";
import type { AppliedAdapters } from "../load/adapterScales.ts";
import type { ModelContext } from "../model/modelContext.ts";
import type { RunPart } from "../tools/runTools.ts";
import type { TurnTools } from "../tools/turnTools.ts";
import {
  type GenerateOptions,
  generateOptionsOf,
  type ResolvedGeneration,
  type RunOptions,
  resolveGeneration,
  resolveOverflow,
} from "./generateOptions.ts";
import { Generation, type GenerationContext } from "./generation.ts";
import type { GenerationFinish, GenerationPart } from "./generationParts.ts";
import { preparePrompt } from "./prompt.ts";
import type { Prompt } from "./promptInput.ts";
import type { SessionOptions } from "./sessionOptions.ts";
import { sessionKinds } from "./sessionOptions.ts";
import { finishOf, TurnQueue } from "./turnQueue.ts";
import { validatedFinish } from "./validatedFinish.ts";

/** A turn of a conversation, or a text by itself, which has no messages. */
interface Turn {
  readonly generation: Generation;
  readonly messages: readonly ChatMessage[] | undefined;
}

/**
 * A conversation that remembers the messages of finished turns. A failed turn leaves no trace; `onAbort` decides about a turn that was aborted
 * or left early. Turns run one after the other.
 */
export class Session {
  readonly #model: ModelContext;
  readonly #turns: TurnQueue;
  readonly #adapters: AppliedAdapters | undefined;
  #messages: readonly ChatMessage[];
  /** Tokens whose keys and values were computed last. */
  #computed: readonly number[] = [];
  /** Scope of the private cache blocks that the session may read; see `Access`. */
  #scope: object | undefined;

  /** Use `model.createSession()`. */
  constructor(model: ModelContext, options: SessionOptions) {
    checkOptions("createSession", options, sessionKinds);
    this.#model = model;
    this.#turns = new TurnQueue(model.maxWaiting);
    this.#adapters = model.applied("createSession", options.adapters);
    this.#messages = frozenMessages(checkMessages("createSession", options.messages ?? []));
  }

  /**
   * Use `model.restoreSession()`.
   * @throws {SnapshotError | ArgumentError | BusyError | DisposedError}; the signal's reason
   */
  static async restore(model: ModelContext, bytes: Uint8Array, options: RestoreOptions): Promise<Session> {
    checkOptions("restoreSession", options, savingKinds);
    const { readSession } = await import("../cache/savedSession.ts");
    const { messages, adapters, load } = await readSession(model, bytes, options);
    const session = new Session(model, { messages, adapters: adapters?.byName });
    session.#scope = options.key === undefined ? {} : undefined;
    session.#computed = await load(session, session.#scope);
    return session;
  }

  /** The conversation: the initial messages and every finished turn. Frozen; each turn creates a new list. */
  get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  /**
   * Generates text piece by piece; the last part is the finish. Leaving the loop early or aborting ends the work. Tokens that the prompt
   * shares with earlier turns are not computed again.
   *
   * If the conversation ends with an assistant message, the answer continues that message, and the session keeps both as one message.
   *
   * Nothing is computed until a part is requested. A stream that is not read for a while lets requests of other sessions go first.
   *
   * Options are checked at the call; everything else happens while iterating.
   * @throws {ArgumentError} at the call for options, while iterating for the prompt and the format; {GrammarError | UnsupportedError} for the
   *   format before anything is generated; {UnsupportedError} for tools and options of reasoning that have no effect on this prompt;
   *   {ContextOverflowError | BusyError | ChatTemplateError | TokenizerError | SamplingError | DisposedError} and the signal's reason while
   *   iterating
   */
  generate<const Format extends AnswerFormat = AnswerFormat>(
    prompt: Prompt,
    options: GenerateOptions<Format> = {},
  ): AsyncGenerator<GenerationPart<FormatValue<Format>>, void, undefined> {
    return this.#generate(prompt, this.#resolve(options), true);
  }

  /** Runs {@link generate} to its end and returns the finish. */
  async complete<const Format extends AnswerFormat = AnswerFormat>(
    prompt: Prompt,
    options: GenerateOptions<Format> = {},
  ): Promise<GenerationFinish<FormatValue<Format>>> {
    return finishOf(this.#generate(prompt, this.#resolve(options), false));
  }

  /**
   * Generates answers until one calls no tools: calls the tools' `execute`, and goes on with the results. An error of a tool is its result.
   * Each answer ends with its finish; between two answers are the results. It ends early at a call of a tool without `execute` and after
   * `maxSteps` answers.
   * @throws as {@link generate}
   */
  run<const Format extends AnswerFormat = AnswerFormat>(
    prompt: Prompt,
    options: RunOptions<Format> = {},
  ): AsyncGenerator<RunPart<FormatValue<Format>>, void, undefined> {
    this.#resolve(generateOptionsOf(options));
    return this.#run(prompt, options);
  }

  /**
   * Starts over with these messages. Cached tokens stay cached, so a conversation with the same beginning is still fast.
   * @throws {BusyError | DisposedError | ArgumentError}
   */
  reset(messages: readonly ChatMessage[] = []): void {
    this.#requireIdle();
    this.#messages = frozenMessages(checkMessages("reset", messages));
  }

  /** Creates an independent session with the same conversation. The two share their cached tokens. @throws {DisposedError} */
  fork(): Session {
    this.#requireOpen();
    const fork = new Session(this.#model, { messages: this.#messages, adapters: this.#adapters?.byName });
    fork.#computed = this.#computed;
    fork.#scope = this.#scope;
    return fork;
  }

  /**
   * Goes back to the first `messageCount` messages. Their tokens stay cached.
   * @throws {ArgumentError | BusyError | DisposedError}
   */
  truncate(messageCount: number): void {
    this.#requireIdle();
    this.#messages = frozenMessages(this.#messages.slice(0, checkValue("truncate", messageCount, whole(0, this.#messages.length))));
  }

  /**
   * Saves the conversation and its cached tokens as bytes for `model.restoreSession`, in any process and on any backend. Evicted tokens are
   * omitted and computed again when they are needed. With a key, so are tokens from a snapshot without a MAC.
   * @throws {ArgumentError | BusyError | DisposedError | UnsupportedError}; the signal's reason
   */
  async save(options: SaveOptions = {}): Promise<Uint8Array> {
    checkOptions("save", options, savingKinds);
    return this.#model.use(async () => {
      const end = await this.#turns.begin({ isStream: false, signal: options.signal });
      try {
        const { saveSession } = await import("../cache/savedSession.ts");
        const scope = options.key === undefined ? this.#scope : undefined;
        const state = { owner: this, scope, adapters: this.#adapters, ids: this.#computed, messages: this.#messages };
        return await saveSession(this.#model, state, options);
      } finally {
        end();
      }
    }, options.signal);
  }

  /** Ends the session and frees its part of the cache. @throws {BusyError} in the middle of a turn */
  dispose(): void {
    this.#turns.close();
    this.#model.free(this);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #resolve(options: GenerateOptions): ResolvedGeneration {
    return resolveGeneration(options, this.#model.sampling);
  }

  #requireOpen(): void {
    this.#model.requireAlive();
    this.#turns.requireOpen();
  }

  #requireIdle(): void {
    this.#model.requireAlive();
    this.#turns.requireIdle();
  }

  async *#run<Value>(prompt: Prompt, options: RunOptions): AsyncGenerator<RunPart<Value>, void, undefined> {
    const { runTools } = await import("../tools/toolCalls.ts");
    yield* runTools(this, prompt, options) as AsyncGenerator<RunPart<Value>, void, undefined>;
  }

  /** The type of the value is that of the format, which the constraint and the validation see to. */
  async *#generate<Value>(
    prompt: Prompt,
    options: ResolvedGeneration,
    isStream: boolean,
  ): AsyncGenerator<GenerationPart<Value>, void, undefined> {
    const startedAt = performance.now();
    this.#model.requireAlive();
    const end = await this.#turns.begin({ isStream, signal: options.signal });
    const { pool } = this.#model;
    let turn: Turn | undefined;
    let isOver = false;
    try {
      turn = await this.#begin(prompt, options, startedAt);
      const { generation, messages } = turn;
      for await (const part of generation.parts()) {
        if (part.type === "finish") {
          isOver = true;
          this.#remember(messages, part.reason === "aborted" ? withPartialAnswer : withAnswer, generation);
        }
        const { sequence } = generation;
        if (sequence !== undefined) pool.pause(sequence);
        yield (part.type === "finish" ? await validatedFinish(part, options.format) : part) as GenerationPart<Value>;
        if (sequence !== undefined) pool.resume(sequence);
      }
    } catch (error) {
      isOver = true;
      throw this.#model.failure(error, options.signal);
    } finally {
      if (turn !== undefined) this.#end(turn, !isOver && options.onAbort === "keep");
      end();
    }
  }

  /** Frees what a turn held. */
  #end({ generation, messages }: Turn, isKept: boolean): void {
    if (isKept) this.#remember(messages, withPartialAnswer, generation);
    const { sequence } = generation;
    if (sequence === undefined) return;
    this.#computed = [...sequence.ids];
    this.#model.pool.release(sequence);
  }

  /** Checks and prepares a turn. */
  async #begin(prompt: Prompt, options: ResolvedGeneration, startedAt: number): Promise<Turn> {
    this.#model.requireLogits("generate");
    const { scheduler, tokenizer, pool, draft } = this.#model;
    if (draft === undefined && (options.draftTokens ?? 0) > 0)
      throw new UnsupportedError("draftTokens", "the model has no draft model; load it with the option draft");
    const overflow = resolveOverflow(options, scheduler.contextLength);
    const tools = await this.#tools(options);
    const { fitted, messages, begun, warnings } = await preparePrompt(this.#model, prompt, options, {
      overflow,
      earlier: this.#messages,
      tools: tools && { all: tools.use.all, format: tools.format },
    });
    if (tools !== undefined && messages === undefined)
      throw new UnsupportedError("tools", "the prompt is no turn of a chat; pass a string or messages, without raw");
    const reasoning = await this.#separation(options, messages !== undefined);
    const { diffusion, decoderStart } = this.#model;
    const encoded = decoderStart === undefined ? undefined : await this.#encode(fitted.ids, options.signal);
    // Texts share no beginnings if their tokens attend to later ones, or to another text.
    const shared = diffusion === undefined && encoded === undefined ? fitted.ids.slice(0, -1) : [];
    const openSequence = async () => {
      const sequence = await pool.acquire(this, shared, { scope: this.#scope, adapters: this.#adapters, signal: options.signal });
      sequence.encoded = encoded;
      return sequence;
    };
    const callable = tools?.use.callable.length === 0 ? undefined : tools;
    const constraint = await this.#constraint(options, { promptIds: fitted.ids, reasoning, begun, tools: callable });
    const calls = callable?.collector(messages ?? []);
    const partial = options.partial ? new (await import("../format/answerConstraint.ts")).PartialJson() : undefined;
    if (begun !== undefined) partial?.push(begun);
    const generation = new Generation({
      scheduler,
      tokenizer,
      openSequence,
      diffusion,
      prompt: decoderStart === undefined ? fitted : { ...fitted, ids: [decoderStart] },
      given: fitted.ids,
      options,
      overflow,
      reasoning,
      constraint,
      draft: draft && { model: draft, owner: this },
      calls,
      partial,
      begun,
      startedAt,
      warnings: constraint === undefined ? warnings : [...warnings, ...constraint.warnings],
    });
    return { generation, messages };
  }

  /** Has the model's encoder read a prompt. The code is loaded on demand. */
  async #encode(ids: readonly number[], signal: AbortSignal | undefined): Promise<Float32Array> {
    const { encodePrompt } = await import("./encodedPrompt.ts");
    return encodePrompt(this.#model, ids, { adapters: this.#adapters, signal });
  }

  /** Compiles the format of the answer. The code is loaded on demand. */
  async #constraint(
    { format, signal }: ResolvedGeneration,
    { reasoning, ...given }: Pick<ConstraintContext, "promptIds" | "tools" | "begun"> & Pick<GenerationContext, "reasoning">,
  ): Promise<AnswerConstraint | undefined> {
    if (format === undefined && given.tools === undefined) return undefined;
    const { AnswerConstraint } = await import("../format/answerConstraint.ts");
    return new AnswerConstraint(format, { ...given, tokenizer: this.#model.tokenizer, reasoning: reasoning?.format, signal });
  }

  /** Checks the tools and finds their format. The code is loaded on demand. */
  async #tools({ tools, toolFormat }: ResolvedGeneration): Promise<TurnTools | undefined> {
    if (tools === undefined) return undefined;
    const { openTools } = await import("../tools/toolCalls.ts");
    return openTools(tools, this.#model.chatTemplate, toolFormat);
  }

  /** Adds a turn to the conversation, if the prompt was a turn of a chat. */
  #remember(messages: readonly ChatMessage[] | undefined, add: typeof withAnswer, { answer }: Generation): void {
    if (messages !== undefined) this.#messages = frozenMessages(add(messages, answer));
  }

  /** How the reasoning is separated from the answer, if it is. @throws {UnsupportedError} for options of reasoning without an effect */
  async #separation(options: ResolvedGeneration, isChat: boolean): Promise<Separation | undefined> {
    const format = this.#reasoningFormat(options, isChat);
    if (options.control !== undefined) {
      const { checkControl } = await import("../chat/reasoningControl.ts");
      checkControl(options.control, { isChat, isSeparated: format !== undefined });
    }
    return format && (await import("../chat/chatTemplate.ts")).separationOf(format);
  }

  #reasoningFormat({ reasoning }: ResolvedGeneration, isChat: boolean): ReasoningFormat | undefined {
    if (reasoning === false) return undefined;
    if (reasoning !== "auto") return reasoning;
    return isChat ? this.#model.chatTemplate.reasoning : undefined;
  }
}
