import type { ChatMessage } from "../chatTemplate.ts";
import { type GenerateOptions, resolveGeneration } from "../generateOptions.ts";
import type { GenerationFinish, GenerationPart } from "../generation.ts";
import { checkKeys, wholeNumber } from "../options.ts";
import type { Prompt } from "../prompt.ts";
import type { Session, SessionOptions } from "../session.ts";
import { finishOf, requireIdle } from "../sessionRules.ts";
import type { ModelCalls } from "./calls.ts";
import type { Caller } from "./channel.ts";

/** Makes the worker forget sessions that nobody has a handle of any more. */
let registry: FinalizationRegistry<{ readonly caller: Caller<ModelCalls>; readonly number: number }> | undefined;

/** Where a model's sessions are, and the number of the last one. */
export interface SessionHome {
  readonly caller: Caller<ModelCalls>;
  last: number;
}

/** A `Session` whose model is in a worker: the same calls. */
export class WorkerSession implements Omit<Session, "fork"> {
  readonly #home: SessionHome;
  readonly #number: number;
  /** What the worker has been told without an answer that anyone waited for. */
  #told: Promise<unknown>;
  #messages: readonly ChatMessage[];
  #isBusy = false;

  private constructor(home: SessionHome, number: number, messages: readonly ChatMessage[], waitedFor: Promise<unknown>) {
    this.#home = home;
    this.#number = number;
    this.#messages = messages;
    this.#told = waitedFor;
    registry ??= new FinalizationRegistry(({ caller, number }) => void told(caller.call("dropSession", [number])));
    registry.register(this, { caller: home.caller, number });
  }

  /** Use `model.createSession()`. */
  static create(home: SessionHome, options: SessionOptions): WorkerSession {
    checkKeys("createSession", options, ["messages"]);
    const number = ++home.last;
    return new WorkerSession(home, number, [...(options.messages ?? [])], told(home.caller.call("createSession", [number, options])));
  }

  /** Use `model.restoreSession()`. */
  static async restore(home: SessionHome, bytes: Uint8Array): Promise<WorkerSession> {
    const number = ++home.last;
    return new WorkerSession(home, number, await home.caller.call("restoreSession", [number, bytes]), Promise.resolve());
  }

  get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  generate(prompt: Prompt, options: GenerateOptions = {}): AsyncGenerator<GenerationPart, void, undefined> {
    resolveGeneration(options);
    return this.#generate(prompt, options);
  }

  async complete(prompt: Prompt, options: GenerateOptions = {}): Promise<GenerationFinish> {
    return finishOf(this.generate(prompt, options));
  }

  reset(messages: readonly ChatMessage[] = []): void {
    requireIdle(this.#isBusy);
    this.#messages = [...messages];
    this.#tell(this.#home.caller.call("resetSession", [this.#number, this.#messages]));
  }

  fork(): WorkerSession {
    const number = ++this.#home.last;
    const { caller } = this.#home;
    const forked = told(Promise.all([this.#told, caller.call("forkSession", [number, this.#number])]));
    const fork = new WorkerSession(this.#home, number, this.#messages, forked);
    // The worker may be further than what was told here.
    fork.reset(this.#messages);
    return fork;
  }

  truncate(messageCount: number): void {
    requireIdle(this.#isBusy);
    this.reset(this.#messages.slice(0, wholeNumber("truncate", messageCount, 0, this.#messages.length)));
  }

  async save(): Promise<Uint8Array> {
    requireIdle(this.#isBusy);
    this.#isBusy = true;
    try {
      await this.#told;
      return await this.#home.caller.call("saveSession", [this.#number]);
    } finally {
      this.#isBusy = false;
    }
  }

  dispose(): void {
    requireIdle(this.#isBusy);
    this.#tell(this.#home.caller.call("freeSession", [this.#number]));
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  async *#generate(prompt: Prompt, { signal, ...options }: GenerateOptions): AsyncGenerator<GenerationPart, void, undefined> {
    requireIdle(this.#isBusy);
    this.#isBusy = true;
    try {
      await this.#told;
      for await (const { part, messages } of this.#home.caller.stream("generate", [this.#number, prompt, options], { signal })) {
        if (messages !== undefined) this.#messages = messages;
        yield part;
      }
    } finally {
      this.#isBusy = false;
    }
  }

  #tell(call: Promise<unknown>): void {
    this.#told = told(Promise.all([this.#told, call]));
  }
}

/** A call whose failure is told by the next one that waits for it. */
function told(call: Promise<unknown>): Promise<unknown> {
  call.catch(() => undefined);
  return call;
}
