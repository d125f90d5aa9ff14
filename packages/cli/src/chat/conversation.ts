import { readFile } from "node:fs/promises";
import { CentellaError, DeviceLostError, DisposedError, UnsupportedError } from "@centella/core";
import { writeWholeFile } from "@centella/gguf";
import { type ChatMessage, type GenerateOptions, type GenerationFinish, GrammarError, type Session, type Tool } from "@centella/llm";
import { messageOf } from "../failure.ts";
import { type GenerateValues, readGenerateOptions } from "../generateOptions.ts";
import type { Loaded } from "../loading.ts";
import type { Output } from "../output.ts";
import { writeGeneration } from "../streaming.ts";
import { UsageError } from "../usageError.ts";

/** What a chat begins with. */
export interface ConversationStart {
  readonly system: string | undefined;
  readonly values: GenerateValues;
  readonly tools: readonly Tool[];
}

/** A chat with a model: its messages, the options for answers, and whether the last answer failed. */
export class Conversation {
  readonly #session: Session;
  readonly #output: Output;
  readonly #signal: AbortSignal;
  /** Files that this conversation wrote or read, and may overwrite. */
  readonly #files = new Set<string>();
  /** Tools that are run when the model calls them. */
  readonly #tools: readonly Tool[];
  /** Whether arguments of tools are held to their schemas. */
  #isStrict = true;
  #values: GenerateValues;
  #dropped = 0;
  /** Warnings of the last answer. */
  #warnings: ReadonlySet<string> = new Set();
  #hasFailed = false;

  constructor({ model }: Loaded, { system, values, tools }: ConversationStart, output: Output, signal: AbortSignal) {
    this.#tools = tools;
    this.#session = model.createSession({ messages: system === undefined ? [] : [{ role: "system", content: system }] });
    this.#output = output;
    this.#signal = signal;
    this.#values = values;
  }

  /** Whether the last turn was not answered. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Generation options that were set. */
  get values(): GenerateValues {
    return this.#values;
  }

  /** @throws {UsageError | ArgumentError} for values out of range or that contradict each other */
  set values(values: GenerateValues) {
    readGenerateOptions(values);
    this.#values = values;
  }

  get system(): string | undefined {
    const first = this.#session.messages[0];
    return first?.role === "system" ? String(first.content) : undefined;
  }

  /** Sets the system message and keeps the other messages. */
  set system(content: string) {
    const rest = this.#session.messages.filter(({ role }) => role !== "system");
    this.#session.reset([{ role: "system", content }, ...rest]);
  }

  /** Forgets everything but the system message. */
  clear(): void {
    this.#session.reset(this.#session.messages.filter(({ role }) => role === "system"));
    this.#dropped = 0;
  }

  /**
   * Writes the answer to a turn. A failure after which the chat can go on is reported and remembered.
   * @throws {Error} for any other failure, and when the chat is interrupted
   */
  async answer(content: string, interrupt: AbortSignal, values: GenerateValues = this.#values): Promise<void> {
    const signal = AbortSignal.any([this.#signal, interrupt]);
    try {
      const finish = await this.#write([{ role: "user", content }], { ...chatOptions(values), progress: true, onAbort: "keep", signal });
      this.#output.write("\n");
      this.#signal.throwIfAborted();
      this.#explain(finish);
      this.#hasFailed = false;
    } catch (error) {
      if (this.#signal.aborted) throw error;
      // A call of a tool was interrupted. An interrupted text is kept, and has a finish.
      if (interrupt.aborted) return this.#output.warn("(stopped)");
      if (!canGoOn(error)) throw error;
      this.#output.error(`centella: ${messageOf(error)}`);
      this.#hasFailed = true;
    }
  }

  /** Writes the answer to a prompt, and those to the results of its calls. */
  async #write(prompt: readonly ChatMessage[], options: GenerateOptions): Promise<GenerationFinish> {
    if (this.#tools.length === 0) return writeGeneration(this.#session.generate(prompt, options), this.#output);
    const tools = [...this.#tools, ...(options.tools ?? [])];
    const run = (): Promise<GenerationFinish> => {
      return writeGeneration(this.#session.run(prompt, { ...options, tools, strictTools: this.#isStrict }), this.#output);
    };
    try {
      return await run();
    } catch (error) {
      // Servers write schemas for models that promise nothing: one that cannot be enforced must not end the chat.
      if (!this.#isStrict || !(error instanceof UnsupportedError || error instanceof GrammarError)) throw error;
      this.#isStrict = false;
      this.#output.warn(`(arguments of tools may not fit their schemas: ${messageOf(error)})`);
      return run();
    }
  }

  /** Writes another answer to the last turn. @throws {UsageError} if there is none, and as {@link answer} */
  async regenerate(interrupt: AbortSignal): Promise<void> {
    const { messages } = this.#session;
    const last = messages.findLastIndex(({ role }) => role === "user");
    const prompt = messages[last];
    if (prompt === undefined) throw new UsageError("/regen: expected an answer, got none yet");
    this.#session.truncate(last);
    // The seed of the first answer would give the same answer again.
    const { seed: _, ...values } = this.#values;
    await this.answer(String(prompt.content), interrupt, values);
  }

  /** Writes the messages as JSON. @throws {GgufError} `exists` for a file that this conversation neither wrote nor read, `io` */
  async save(path: string): Promise<void> {
    const content = new TextEncoder().encode(`${JSON.stringify(this.#session.messages, null, 2)}\n`);
    await writeWholeFile(path, (sink) => sink.write(content), { overwrite: this.#files.has(path) });
    this.#files.add(path);
    this.#output.warn(`saved ${this.#session.messages.length} messages in ${path}`);
  }

  /** Continues with the messages of a file that {@link save} wrote. @throws {UsageError} for any other content */
  async load(path: string): Promise<void> {
    const messages = parseMessages(await readFile(path, "utf8"));
    if (messages === undefined) throw new UsageError(`/load: expected a JSON list of { "role", "content" }, got ${path}`);
    this.#session.reset(messages);
    this.#files.add(path);
    this.#dropped = 0;
    this.#output.warn(`loaded ${messages.length} messages from ${path}`);
  }

  /** Reports an answer that was cut or that lost context. */
  #explain({ reason, limit, usage, warnings = [] }: GenerationFinish): void {
    for (const warning of warnings) if (!this.#warnings.has(warning)) this.#output.warn(`(${warning})`);
    this.#warnings = new Set(warnings);
    if (usage.droppedMessages > this.#dropped)
      this.#output.warn(`(the context is full: the ${usage.droppedMessages} oldest messages were left out; --context makes room for more)`);
    this.#dropped = usage.droppedMessages;
    if (reason === "aborted") this.#output.warn("(stopped)");
    else if (limit === "context") this.#output.warn("(the answer filled the context: raise --context, or use --overflow shift)");
    else if (limit === "maxTokens") this.#output.note("(the answer reached --tokens)");
  }
}

/** Options of an answer. The oldest turns are left out when the context is full, unless `--overflow error` is given. */
function chatOptions(values: GenerateValues): GenerateOptions {
  const options = readGenerateOptions(values);
  const prompt = values.overflow === "error" ? "error" : "dropTurns";
  return { ...options, overflow: { ...options.overflow, prompt } };
}

function canGoOn(error: unknown): boolean {
  return error instanceof CentellaError && !(error instanceof DeviceLostError || error instanceof DisposedError);
}

function parseMessages(text: string): readonly ChatMessage[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every(isMessage) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isMessage(value: unknown): value is ChatMessage {
  const { role, content } = (value ?? {}) as { readonly role?: unknown; readonly content?: unknown };
  return typeof role === "string" && (typeof content === "string" || content === null);
}
