import { abortable } from "@centella/llm/engine";
import { isRecord } from "@centella/quant/checks";
import { readConstraint } from "./constraint.ts";
import type { Dialogue, Question } from "./dialogue.ts";
import { domException, promptError } from "./errors.ts";
import { type EventHandler, HandlerTarget } from "./handlerTarget.ts";
import { readInput } from "./messages.ts";
import type { PromptInput, PromptOptions, SamplingMode, SignalOptions } from "./types.ts";

/** What a session holds. */
export interface SessionParts {
  readonly dialogue: Dialogue;
  readonly samplingMode: SamplingMode;
  readonly topK: number;
  readonly temperature: number;
}

/** Only this module's callers have it, so that pages cannot construct sessions, as in Chrome. */
export const constructorKey: unique symbol = Symbol("LanguageModel.create()");

/** A session of Chrome's Prompt API: its calls run one after the other, in the order in which they are made. */
export class PromptSession extends HandlerTarget {
  readonly samplingMode: SamplingMode;
  /** Most likely tokens to choose from. */
  readonly topK: number;
  readonly temperature: number;
  readonly #parts: SessionParts;
  readonly #dialogue: Dialogue;
  readonly #destruction = new AbortController();
  /** Settles when the calls so far have ended. */
  #last: Promise<unknown> = Promise.resolve();

  /** Use `LanguageModel.create()`, whose signal also ends the session. @throws {TypeError} for any other caller */
  constructor(key: typeof constructorKey, parts: SessionParts, signal?: AbortSignal) {
    if (key !== constructorKey) throw new TypeError("LanguageModel: expected no constructor call, got one; use LanguageModel.create()");
    super();
    this.#parts = parts;
    this.#dialogue = parts.dialogue;
    this.samplingMode = parts.samplingMode;
    this.topK = parts.topK;
    this.temperature = parts.temperature;
    parts.dialogue.onOverflow = () => {
      this.dispatchEvent(new Event("contextoverflow"));
      this.dispatchEvent(new Event("quotaoverflow"));
    };
    signal?.addEventListener("abort", () => this.#end(signal.reason), { once: true, signal: this.#destruction.signal });
    if (signal?.aborted) this.#end(signal.reason);
  }

  /** Tokens of the conversation and the tools. */
  get contextUsage(): number {
    return this.#dialogue.contextUsage;
  }

  /** Maximum number of tokens of the conversation. */
  get contextWindow(): number {
    return this.#dialogue.contextWindow;
  }

  /** Former name of {@link contextUsage}. */
  get inputUsage(): number {
    return this.contextUsage;
  }

  /** Former name of {@link contextWindow}. */
  get inputQuota(): number {
    return this.contextWindow;
  }

  get oncontextoverflow(): EventHandler {
    return this.handler("contextoverflow");
  }

  set oncontextoverflow(handler: EventHandler) {
    this.setHandler("contextoverflow", handler);
  }

  /** Former name of {@link oncontextoverflow}. */
  get onquotaoverflow(): EventHandler {
    return this.handler("quotaoverflow");
  }

  set onquotaoverflow(handler: EventHandler) {
    this.setHandler("quotaoverflow", handler);
  }

  /**
   * Returns the answer to a text or to messages. With a prefix, it is the text after the prefix.
   * @throws {TypeError} for messages and options of another form
   * @throws {DOMException} QuotaExceededError if there is no room in the context; SyntaxError for a misplaced prefix, and if the answer cannot
   *   match its constraint; NotSupportedError for images, sound and constraints that cannot be enforced; InvalidStateError after `destroy()`;
   *   OperationError and UnknownError for other failures; the signal's reason
   */
  async prompt(input: PromptInput, options: PromptOptions = {}): Promise<string> {
    return this.#prompt(input, options, () => undefined);
  }

  /** As {@link prompt}, piece by piece. The answer is computed whether or not it is read. Errors are the stream's. */
  promptStreaming(input: PromptInput, options: PromptOptions = {}): ReadableStream<string> {
    const cancellation = new AbortController();
    const signals = options?.signal === undefined ? [] : [options.signal];
    const signal = AbortSignal.any([cancellation.signal, ...signals]);
    let isOpen = true;
    return new ReadableStream<string>({
      start: (controller) => {
        const settle = (end: () => void): void => {
          if (isOpen) end();
          isOpen = false;
        };
        // An aborted call may write a last piece.
        const enqueue = (text: string): void => {
          if (isOpen) controller.enqueue(text);
        };
        this.#prompt(input, { ...options, signal }, enqueue).then(
          () => settle(() => controller.close()),
          (error) => settle(() => controller.error(error)),
        );
      },
      cancel(reason) {
        isOpen = false;
        cancellation.abort(reason);
      },
    });
  }

  /** Adds messages to the conversation and computes them, without an answer. @throws as {@link prompt} */
  async append(input: PromptInput, { signal }: SignalOptions = {}): Promise<undefined> {
    const { messages } = readInput("append", input);
    await this.#enqueue(signal, (composite) => this.#dialogue.append(messages, composite));
    return undefined;
  }

  /** Number of tokens that a prompt adds to the context. @throws as {@link prompt} */
  async measureContextUsage(input: PromptInput, options: PromptOptions = {}): Promise<number> {
    const { messages } = readQuestion("measureContextUsage", input, options);
    return this.#guard(options.signal, (signal) => this.#dialogue.measure(messages, signal));
  }

  /** Former name of {@link measureContextUsage}. */
  async measureInputUsage(input: PromptInput, options: PromptOptions = {}): Promise<number> {
    return this.measureContextUsage(input, options);
  }

  /** An independent session with the same options and the conversation of finished calls. Nothing is computed again. @throws as {@link prompt} */
  async clone({ signal }: SignalOptions = {}): Promise<this> {
    return this.#guard(signal, async () => {
      const Session = this.constructor as new (key: typeof constructorKey, parts: SessionParts) => this;
      return new Session(constructorKey, { ...this.#parts, dialogue: this.#dialogue.fork() });
    });
  }

  /** Ends the session and its running calls, which reject with an AbortError. */
  destroy(): undefined {
    this.#end(domException("AbortError", "LanguageModel: the session was destroyed"));
  }

  async #prompt(input: PromptInput, options: PromptOptions, onText: Question["onText"]): Promise<string> {
    const question = readQuestion("prompt", input, options);
    return this.#enqueue(options.signal, (signal) => this.#dialogue.answer({ ...question, signal, onText }));
  }

  /** Ends the session. Its running calls reject with the reason. */
  #end(reason: unknown): void {
    if (this.#destruction.signal.aborted) return;
    this.#destruction.abort(reason);
    void this.#last.then(() => this.#dialogue.dispose());
  }

  /** Runs work after the calls so far have ended. */
  async #enqueue<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#guard(signal, (composite) => {
      const result = this.#last.then(() => {
        composite.throwIfAborted();
        return work(composite);
      });
      this.#last = result.catch(() => undefined);
      return result;
    });
  }

  /** Runs work that ends with the signal or the session. @throws the errors of the web platform */
  async #guard<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal: destroyed } = this.#destruction;
    if (destroyed.aborted) throw domException("InvalidStateError", "LanguageModel: the session was destroyed; create another one");
    const composite = signal === undefined ? destroyed : AbortSignal.any([destroyed, signal]);
    composite.throwIfAborted();
    try {
      return await abortable(work(composite), composite);
    } catch (error) {
      throw promptError(error);
    }
  }
}

/** Reads a call with its constraint, whose instruction comes before a prefix. */
function readQuestion(where: string, input: PromptInput, options: PromptOptions): Omit<Question, "signal" | "onText"> {
  if (!isRecord(options)) throw new TypeError(`${where}: expected an object of options`);
  const { messages, isPrefix } = readInput(where, input);
  const constraint = readConstraint(options);
  const { instruction } = constraint ?? {};
  const end = isPrefix ? messages.length - 1 : messages.length;
  return {
    messages: instruction === undefined ? messages : messages.toSpliced(end, 0, instruction),
    isPrefix,
    format: constraint?.format,
  };
}
