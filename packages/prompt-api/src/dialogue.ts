import type { ChatMessage, GenerateOptions, GenerationFinish } from "@centella/llm";
import { type Conversation, hasAnswer, isEmpty, rendered, withMessages, withoutOldestTurn } from "./conversation.ts";
import { countTokens, type EngineSession, prefill } from "./engine.ts";
import { domException, overflowOf, quotaExceeded, TightContextError } from "./errors.ts";
import { type ReadInput, systemNotFirst } from "./messages.ts";

/** Part of the context that answered turns leave to the next answer. */
const answerRoom = 1 / 16;

/** Part of the context that is free after turns were dropped. What is left of the conversation is computed again, so this should be rare. */
const sparedRoom = 1 / 8;

/** What a dialogue begins with. */
export interface DialogueStart {
  readonly session: EngineSession;
  readonly conversation: Conversation;
  /** Tokens of the conversation and the tools, if they are computed. */
  readonly contextUsage?: number;
  /** Maximum number of tokens of the conversation. */
  readonly contextWindow: number;
  /** Options of every generation. */
  readonly options: GenerateOptions;
}

/** A call that is answered. */
export interface Question extends ReadInput {
  readonly format: GenerateOptions["format"];
  readonly signal: AbortSignal;
  /** Receives the answer piece by piece. */
  readonly onText: (text: string) => void;
}

/**
 * A conversation with a model in a context of limited size. Initial messages are never dropped; the oldest turns are, if there is no room for
 * new messages. A failed call leaves the conversation as it was, except for the dropped turns. Calls do not overlap.
 */
export class Dialogue {
  readonly contextWindow: number;
  /** Called when turns are dropped, and when an answer is cut short by the end of the context. */
  onOverflow: () => void = () => undefined;
  readonly #session: EngineSession;
  readonly #options: GenerateOptions;
  #conversation: Conversation;
  #contextUsage: number;

  constructor({ session, conversation, contextUsage = 0, contextWindow, options }: DialogueStart) {
    this.contextWindow = contextWindow;
    this.#session = session;
    this.#options = options;
    this.#conversation = conversation;
    this.#contextUsage = contextUsage;
  }

  /** Number of tokens of the conversation and the tools. */
  get contextUsage(): number {
    return this.#contextUsage;
  }

  /** Computes the initial messages and the tools. A failure ends the dialogue. @throws {QuotaExceededError} if they do not fit; the errors of the engine */
  async begin(signal: AbortSignal | undefined): Promise<void> {
    if (isEmpty(this.#conversation) && this.#options.tools === undefined) return;
    try {
      await this.#compute(this.#conversation, signal);
    } catch (error) {
      this.dispose();
      const tokens = overflowOf(error);
      throw tokens === undefined ? error : quotaExceeded(tokens, this.contextWindow);
    }
  }

  /** Adds messages and computes them. @throws {QuotaExceededError | TypeError}; the errors of the engine */
  async append(added: readonly ChatMessage[], signal: AbortSignal): Promise<void> {
    await this.#withRoom(added, signal, (conversation) => this.#compute(conversation, signal));
  }

  /** Answers messages. @throws {QuotaExceededError | TypeError | SyntaxError | OperationError}; the errors of the engine */
  async answer({ messages, isPrefix, ...question }: Question): Promise<string> {
    // Chat templates expect turns to alternate, so that a new answer after an answer needs a turn of the user.
    const isAnswered = messages.at(-1)?.role === "assistant" && !isPrefix;
    const asked = isAnswered ? [...messages, { role: "user", content: "" }] : messages;
    return this.#withRoom(asked, question.signal, (conversation) => this.#answer(conversation, { ...question, isPrefix }));
  }

  /** Number of tokens that messages add to the context. */
  async measure(added: readonly ChatMessage[], signal: AbortSignal): Promise<number> {
    const tokens = await this.#count(this.#extended(added), signal);
    return Math.max(0, tokens - this.#contextUsage);
  }

  /** An independent dialogue with the same conversation. Its tokens are not computed again. */
  fork(): Dialogue {
    return new Dialogue({
      session: this.#session.fork(),
      conversation: this.#conversation,
      contextUsage: this.#contextUsage,
      contextWindow: this.contextWindow,
      options: this.#options,
    });
  }

  dispose(): void {
    this.#session.dispose();
  }

  /** @throws {TypeError} for a system message that is not the first of all */
  #extended(added: readonly ChatMessage[]): Conversation {
    if (added[0]?.role === "system" && !isEmpty(this.#conversation)) systemNotFirst("prompt");
    return withMessages(this.#conversation, added);
  }

  async #compute(conversation: Conversation, signal: AbortSignal | undefined): Promise<void> {
    this.#contextUsage = await prefill(this.#session, rendered(conversation), { ...this.#options, signal });
    this.#conversation = conversation;
  }

  async #count(conversation: Conversation, signal: AbortSignal): Promise<number> {
    return countTokens(this.#session, rendered(conversation), { ...this.#options, signal });
  }

  /** Works on the conversation with more messages, and again without its oldest turns if it does not fit into the context. */
  async #withRoom<T>(added: readonly ChatMessage[], signal: AbortSignal, work: (conversation: Conversation) => Promise<T>): Promise<T> {
    try {
      return await work(this.#extended(added));
    } catch (error) {
      if (overflowOf(error) === undefined) throw error;
    }
    this.#conversation = await this.#shortened(added, signal);
    this.#contextUsage = isEmpty(this.#conversation) ? 0 : await this.#count(this.#conversation, signal);
    this.onOverflow();
    return work(this.#extended(added));
  }

  /** The conversation without as many of its oldest turns as leave room for messages and an answer to them. @throws {QuotaExceededError} */
  async #shortened(added: readonly ChatMessage[], signal: AbortSignal): Promise<Conversation> {
    const enough = this.contextWindow * (1 - sparedRoom);
    let conversation = this.#conversation;
    for (;;) {
      const tokens = await this.#count(withMessages(conversation, added), signal);
      if (tokens <= enough || (tokens < this.contextWindow && !hasAnswer(conversation))) return conversation;
      const shorter = withoutOldestTurn(conversation);
      if (shorter === undefined) throw quotaExceeded(tokens, this.contextWindow);
      conversation = shorter;
    }
  }

  async #answer(conversation: Conversation, { isPrefix, format, signal, onText }: Omit<Question, "messages">): Promise<string> {
    const messages = rendered(conversation);
    let text = "";
    let finish: GenerationFinish | undefined;
    this.#session.reset();
    try {
      const given = { ...this.#options, signal, progress: true, ...(format !== undefined && { format }) };
      for await (const part of this.#session.run(messages, given)) {
        if (part.type === "prefill" && finish === undefined) this.#requireRoom(part.total);
        // Commentary for the user is text; other commentary is for tools.
        if (part.type === "text" || (part.type === "commentary" && part.recipient === undefined)) {
          text += part.text;
          onText(part.text);
        }
        if (part.type === "finish") finish = part;
      }
    } catch (error) {
      const tokens = overflowOf(error);
      // Only the first answer of a run can begin again without its oldest turns: later ones follow calls of tools.
      throw tokens === undefined || finish === undefined ? error : quotaExceeded(tokens, this.contextWindow);
    }
    checkFinish(finish);
    this.#remember(conversation, messages, isPrefix);
    this.#contextUsage = finish.usage.promptTokens + finish.usage.completionTokens;
    if (finish.limit === "context") this.onOverflow();
    return text;
  }

  /** @throws {TightContextError} if old turns take the room of an answer */
  #requireRoom(promptTokens: number): void {
    const room = Math.min(this.#options.maxTokens ?? Number.POSITIVE_INFINITY, Math.floor(this.contextWindow * answerRoom));
    if (hasAnswer(this.#conversation) && promptTokens > this.contextWindow - room) throw new TightContextError(promptTokens);
  }

  /** Adds what the engine has added to the messages, the last of which it may have continued. */
  #remember({ kept, turns }: Conversation, messages: readonly ChatMessage[], isPrefix: boolean): void {
    const later = this.#session.messages.slice(messages.length);
    const [prefix, continued] = [turns.at(-1), this.#session.messages[messages.length - 1]];
    if (!isPrefix || prefix === undefined || continued === undefined) {
      this.#conversation = { kept, turns: [...turns, ...later] };
      return;
    }
    // Neighbours of one role are one message of the engine, but not of the conversation.
    const added = textOf(continued).slice(textOf(messages.at(-1)).length);
    this.#conversation = { kept, turns: [...turns.slice(0, -1), { ...continued, content: textOf(prefix) + added }, ...later] };
  }
}

/** @throws {DOMException} OperationError if the answer still calls tools, SyntaxError if it was cut short before it matched its constraint */
function checkFinish(finish: GenerationFinish | undefined): asserts finish is GenerationFinish {
  if (finish === undefined || finish.reason === "toolCalls")
    throw domException("OperationError", "prompt: expected an answer within 8 rounds of calling tools, got more calls");
  if (finish.complete === false)
    throw domException("SyntaxError", "prompt: expected an answer that matches the responseConstraint, got one that was cut short");
}

/** Messages of a dialogue have strings as their content, or calls of tools without a text. */
function textOf(message: ChatMessage | undefined): string {
  return typeof message?.content === "string" ? message.content : "";
}
