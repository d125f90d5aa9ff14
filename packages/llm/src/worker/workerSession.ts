import { DisposedError } from "@centella/core";
import { checkOptions, checkValue, isRecord, whole } from "@centella/quant/checks";
import type { RestoreOptions, SaveOptions } from "../cache/saveOptions.ts";
import { savingKinds } from "../cache/saveOptions.ts";
import { frozenMessages } from "../chat/conversation.ts";
import { type ChatMessage, checkMessages } from "../chat/messages.ts";
import type { AnswerFormat } from "../format/answerFormat.ts";
import type { FormatValue } from "../format/schemaTypes.ts";
import { type GenerateOptions, generateOptionsOf, type RunOptions, resolveGeneration } from "../generate/generateOptions.ts";
import type { GenerationFinish, GenerationPart } from "../generate/generationParts.ts";
import type { Prompt } from "../generate/promptInput.ts";
import type { Session } from "../generate/session.ts";
import type { SessionOptions } from "../generate/sessionOptions.ts";
import { sessionKinds } from "../generate/sessionOptions.ts";
import { finishOf, TurnQueue } from "../generate/turnQueue.ts";
import { validatedFinish } from "../generate/validatedFinish.ts";
import { appliedAdapters } from "../load/adapterScales.ts";
import type { RunPart } from "../tools/runTools.ts";
import type { Tool } from "../tools/tools.ts";
import type { ModelCalls, StreamedPart } from "./calls.ts";
import type { Caller } from "./channel.ts";

/** Has the worker forget sessions whose handles were garbage-collected. */
let registry: FinalizationRegistry<{ readonly caller: Caller<ModelCalls>; readonly number: number }> | undefined;

/** State that the sessions of a model share. */
export interface WorkerModelState {
  readonly caller: Caller<ModelCalls>;
  /** Maximum number of turns of a session that wait. */
  readonly maxWaiting: number;
  /** Names of the model's adapters. */
  readonly adapters: readonly string[];
  /** Number of the last session. */
  lastSession: number;
  isDisposed: boolean;
}

/** A `Session` of a model in a worker, with the same calls. */
export class WorkerSession implements Omit<Session, "fork"> {
  readonly #state: WorkerModelState;
  readonly #number: number;
  /** Calls to the worker that were not awaited yet. The next call waits for them. */
  #pending: Promise<unknown>;
  readonly #turns: TurnQueue;
  #messages: readonly ChatMessage[];

  private constructor(state: WorkerModelState, number: number, messages: readonly ChatMessage[], pending: Promise<unknown>) {
    this.#state = state;
    this.#number = number;
    this.#turns = new TurnQueue(state.maxWaiting);
    this.#messages = frozenMessages(messages);
    this.#pending = pending;
    registry ??= new FinalizationRegistry(({ caller, number }) => void deferError(caller.call("dropSession", [number])));
    registry.register(this, { caller: state.caller, number });
  }

  /** Use `model.createSession()`. */
  static create(state: WorkerModelState, options: SessionOptions): WorkerSession {
    requireAlive(state);
    const { messages = [], adapters = {} } = checkOptions("createSession", options, sessionKinds);
    appliedAdapters("createSession", adapters, state.adapters);
    checkMessages("createSession", messages);
    const number = ++state.lastSession;
    return new WorkerSession(state, number, messages, deferError(state.caller.call("createSession", [number, options])));
  }

  /** Use `model.restoreSession()`. */
  static async restore(state: WorkerModelState, bytes: Uint8Array, options: RestoreOptions): Promise<WorkerSession> {
    checkOptions("restoreSession", options, savingKinds);
    const { signal, ...rest } = options;
    const number = ++state.lastSession;
    const messages = await state.caller.call("restoreSession", [number, bytes, rest], { signal });
    return new WorkerSession(state, number, messages, Promise.resolve());
  }

  get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  generate<const Format extends AnswerFormat = AnswerFormat>(
    prompt: Prompt,
    options: GenerateOptions<Format> = {},
  ): AsyncGenerator<GenerationPart<FormatValue<Format>>, void, undefined> {
    resolveGeneration(options);
    return this.#generate(prompt, options, true);
  }

  run<const Format extends AnswerFormat = AnswerFormat>(
    prompt: Prompt,
    options: RunOptions<Format> = {},
  ): AsyncGenerator<RunPart<FormatValue<Format>>, void, undefined> {
    resolveGeneration(generateOptionsOf(options));
    return this.#run(prompt, options);
  }

  async complete<const Format extends AnswerFormat = AnswerFormat>(
    prompt: Prompt,
    options: GenerateOptions<Format> = {},
  ): Promise<GenerationFinish<FormatValue<Format>>> {
    resolveGeneration(options);
    return finishOf(this.#generate(prompt, options, false));
  }

  reset(messages: readonly ChatMessage[] = []): void {
    this.#requireIdle();
    this.#messages = frozenMessages(checkMessages("reset", messages));
    this.#send(this.#state.caller.call("resetSession", [this.#number, this.#messages]));
  }

  fork(): WorkerSession {
    requireAlive(this.#state);
    this.#turns.requireOpen();
    const number = ++this.#state.lastSession;
    const { caller } = this.#state;
    const forked = deferError(Promise.all([this.#pending, caller.call("forkSession", [number, this.#number])]));
    const fork = new WorkerSession(this.#state, number, this.#messages, forked);
    // The worker's session may already have more messages than this one.
    fork.reset(this.#messages);
    return fork;
  }

  truncate(messageCount: number): void {
    this.#requireIdle();
    this.reset(this.#messages.slice(0, checkValue("truncate", messageCount, whole(0, this.#messages.length))));
  }

  async save(options: SaveOptions = {}): Promise<Uint8Array> {
    checkOptions("save", options, savingKinds);
    const { signal, ...rest } = options;
    requireAlive(this.#state);
    const end = await this.#turns.begin({ isStream: false, signal });
    try {
      await this.#pending;
      return await this.#state.caller.call("saveSession", [this.#number, rest], { signal });
    } finally {
      end();
    }
  }

  dispose(): void {
    this.#turns.close();
    if (!this.#state.isDisposed) this.#send(this.#state.caller.call("freeSession", [this.#number]));
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  async *#run<Value>(prompt: Prompt, options: RunOptions): AsyncGenerator<RunPart<Value>, void, undefined> {
    const { runTools } = await import("../tools/toolCalls.ts");
    yield* runTools(this, prompt, options) as AsyncGenerator<RunPart<Value>, void, undefined>;
  }

  async *#generate<Value>(
    prompt: Prompt,
    { signal, ...options }: GenerateOptions,
    isStream: boolean,
  ): AsyncGenerator<GenerationPart<Value>, void, undefined> {
    requireAlive(this.#state);
    const end = await this.#turns.begin({ isStream, signal });
    const remember = ({ messages }: StreamedPart): void => {
      if (messages !== undefined) this.#messages = frozenMessages(messages);
    };
    let mustReset = false;
    // The worker computes ahead of the reader, so it may have finished a turn whose reader leaves before the end.
    const onUnread = (part: StreamedPart): void => {
      if (options.onAbort === "keep") remember(part);
      else mustReset ||= part.messages !== undefined;
    };
    try {
      await this.#pending;
      const { caller } = this.#state;
      const sent = await withoutFunctions(options);
      for await (const streamed of caller.stream("generate", [this.#number, prompt, sent], { signal, onUnread })) {
        remember(streamed);
        const { part } = streamed;
        yield (part.type === "finish" ? await validatedFinish(part, options.format) : part) as GenerationPart<Value>;
      }
    } finally {
      if (mustReset) this.#send(this.#state.caller.call("resetSession", [this.#number, this.#messages]));
      end();
    }
  }

  #requireIdle(): void {
    requireAlive(this.#state);
    this.#turns.requireIdle();
  }

  #send(call: Promise<unknown>): void {
    this.#pending = deferError(Promise.all([this.#pending, call]));
  }
}

/** Options without functions, which stay in this thread: those of tools, and those of schemas of validation libraries. */
async function withoutFunctions(options: GenerateOptions): Promise<GenerateOptions> {
  const { tools, format } = options;
  const hasSchema = isRecord(format) && "schema" in format;
  if (tools === undefined && !hasSchema) return options;
  const { jsonSchemaOf } = await import("../format/standardSchema.ts");
  const plain = (tool: Tool): Tool => {
    if (!isRecord(tool)) return tool;
    const { execute: _, inputSchema, ...rest } = tool;
    return { ...rest, ...(inputSchema !== undefined && { inputSchema: jsonSchemaOf(inputSchema) }) };
  };
  return {
    ...options,
    ...(Array.isArray(tools) && { tools: tools.map(plain) }),
    ...(hasSchema && { format: { ...format, schema: jsonSchemaOf(format.schema) } }),
  };
}

/** @throws {DisposedError} */
function requireAlive({ isDisposed }: WorkerModelState): void {
  if (isDisposed) throw new DisposedError("model");
}

/** Marks a call's error as handled. The error is reported by the next call that awaits this one. */
function deferError(call: Promise<unknown>): Promise<unknown> {
  call.catch(() => undefined);
  return call;
}
