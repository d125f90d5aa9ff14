import { DisposedError } from "@centella/core";
import { checkOptions, checkValue, whole } from "@centella/quant/checks";
import type { RestoreOptions, SaveOptions } from "../cache/saveOptions.ts";
import { savingKinds } from "../cache/saveOptions.ts";
import { frozenMessages } from "../chat/conversation.ts";
import { type ChatMessage, checkMessages } from "../chat/messages.ts";
import { type GenerateOptions, resolveGeneration } from "../generate/generateOptions.ts";
import type { GenerationFinish, GenerationPart } from "../generate/generationParts.ts";
import type { Prompt } from "../generate/prompt.ts";
import type { Session } from "../generate/session.ts";
import type { SessionOptions } from "../generate/sessionOptions.ts";
import { sessionKinds } from "../generate/sessionOptions.ts";
import { finishOf, TurnQueue } from "../generate/turnQueue.ts";
import type { ModelCalls, StreamedPart } from "./calls.ts";
import type { Caller } from "./channel.ts";

/** Makes the worker drop sessions whose handles were garbage-collected. */
let registry: FinalizationRegistry<{ readonly caller: Caller<ModelCalls>; readonly number: number }> | undefined;

/** State that a model's sessions share. */
export interface WorkerModelState {
  readonly caller: Caller<ModelCalls>;
  /** Turns of a session that may wait. */
  readonly maxWaiting: number;
  /** Number of the last session. */
  lastSession: number;
  isDisposed: boolean;
}

/** A `Session` whose model is in a worker: the same calls. */
export class WorkerSession implements Omit<Session, "fork"> {
  readonly #home: WorkerModelState;
  readonly #number: number;
  /** Messages to the worker whose replies nobody has awaited yet. */
  #told: Promise<unknown>;
  readonly #turns: TurnQueue;
  #messages: readonly ChatMessage[];

  private constructor(home: WorkerModelState, number: number, messages: readonly ChatMessage[], waitedFor: Promise<unknown>) {
    this.#home = home;
    this.#number = number;
    this.#turns = new TurnQueue(home.maxWaiting);
    this.#messages = frozenMessages(messages);
    this.#told = waitedFor;
    registry ??= new FinalizationRegistry(({ caller, number }) => void told(caller.call("dropSession", [number])));
    registry.register(this, { caller: home.caller, number });
  }

  /** Use `model.createSession()`. */
  static create(home: WorkerModelState, options: SessionOptions): WorkerSession {
    requireAlive(home);
    const { messages = [] } = checkOptions("createSession", options, sessionKinds);
    checkMessages("createSession", messages);
    const number = ++home.lastSession;
    return new WorkerSession(home, number, messages, told(home.caller.call("createSession", [number, options])));
  }

  /** Use `model.restoreSession()`. */
  static async restore(home: WorkerModelState, bytes: Uint8Array, options: RestoreOptions): Promise<WorkerSession> {
    checkOptions("restoreSession", options, savingKinds);
    const { signal, ...rest } = options;
    const number = ++home.lastSession;
    const messages = await home.caller.call("restoreSession", [number, bytes, rest], { signal });
    return new WorkerSession(home, number, messages, Promise.resolve());
  }

  get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  generate(prompt: Prompt, options: GenerateOptions = {}): AsyncGenerator<GenerationPart, void, undefined> {
    resolveGeneration(options);
    return this.#generate(prompt, options, true);
  }

  async complete(prompt: Prompt, options: GenerateOptions = {}): Promise<GenerationFinish> {
    resolveGeneration(options);
    return finishOf(this.#generate(prompt, options, false));
  }

  reset(messages: readonly ChatMessage[] = []): void {
    this.#requireIdle();
    this.#messages = frozenMessages(checkMessages("reset", messages));
    this.#tell(this.#home.caller.call("resetSession", [this.#number, this.#messages]));
  }

  fork(): WorkerSession {
    requireAlive(this.#home);
    this.#turns.requireOpen();
    const number = ++this.#home.lastSession;
    const { caller } = this.#home;
    const forked = told(Promise.all([this.#told, caller.call("forkSession", [number, this.#number])]));
    const fork = new WorkerSession(this.#home, number, this.#messages, forked);
    // The worker may be ahead of the messages known here.
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
    requireAlive(this.#home);
    const end = await this.#turns.begin({ isStream: false, signal });
    try {
      await this.#told;
      return await this.#home.caller.call("saveSession", [this.#number, rest], { signal });
    } finally {
      end();
    }
  }

  dispose(): void {
    this.#turns.close();
    if (!this.#home.isDisposed) this.#tell(this.#home.caller.call("freeSession", [this.#number]));
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  async *#generate(
    prompt: Prompt,
    { signal, ...options }: GenerateOptions,
    isStream: boolean,
  ): AsyncGenerator<GenerationPart, void, undefined> {
    requireAlive(this.#home);
    const end = await this.#turns.begin({ isStream, signal });
    const remember = ({ messages }: StreamedPart): void => {
      if (messages !== undefined) this.#messages = frozenMessages(messages);
    };
    let isTakenBack = false;
    // The worker is ahead of its reader: it may have finished a turn whose reader leaves before the end.
    const onUnread = (told: StreamedPart): void => {
      if (options.onAbort === "keep") remember(told);
      else isTakenBack ||= told.messages !== undefined;
    };
    try {
      await this.#told;
      const { caller } = this.#home;
      for await (const told of caller.stream("generate", [this.#number, prompt, options], { signal, onUnread })) {
        remember(told);
        yield told.part;
      }
    } finally {
      if (isTakenBack) this.#tell(this.#home.caller.call("resetSession", [this.#number, this.#messages]));
      end();
    }
  }

  #requireIdle(): void {
    requireAlive(this.#home);
    this.#turns.requireIdle();
  }

  #tell(call: Promise<unknown>): void {
    this.#told = told(Promise.all([this.#told, call]));
  }
}

/** @throws {DisposedError} */
function requireAlive({ isDisposed }: WorkerModelState): void {
  if (isDisposed) throw new DisposedError("model");
}

/** A call whose failure surfaces in the next call that awaits it. */
function told(call: Promise<unknown>): Promise<unknown> {
  call.catch(() => undefined);
  return call;
}
