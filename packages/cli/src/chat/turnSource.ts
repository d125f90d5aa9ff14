import { createInterface, type Interface } from "node:readline";
import { complete } from "./chatCommands.ts";
import { History } from "./history.ts";
import { bracketedPaste, PasteFilter, withPastedLines } from "./pasteFilter.ts";
import { TurnAssembler } from "./turns.ts";

/** Source of a chat's turns. */
export interface TurnSource {
  /** Returns the next turn, or undefined at the end. */
  next(): Promise<string | undefined>;
  /** Runs `work`. Ctrl-C aborts its signal, and a second Ctrl-C ends the source. */
  during(work: (interrupt: AbortSignal) => Promise<void>): Promise<void>;
  /** Asks a question during work. Returns the answer: an empty one where nobody answers. */
  ask(question: string): Promise<string>;
  close(): void;
}

/** Whether a person types the turns. */
export function isTyped(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true;
}

/** Opens stdin as a source of turns: typed on a terminal, or read from a pipe or file. */
export function openTurns(signal: AbortSignal): TurnSource {
  return isTyped() ? new TypedTurns(signal) : new PipedTurns(signal);
}

/** Turns from lines of stdin. */
class PipedTurns implements TurnSource {
  readonly #assembler = new TurnAssembler();
  readonly #interface: Interface;
  readonly #lines: AsyncIterator<string>;

  constructor(signal: AbortSignal) {
    this.#interface = createInterface({ input: process.stdin, signal });
    this.#lines = this.#interface[Symbol.asyncIterator]();
  }

  async next(): Promise<string | undefined> {
    for (;;) {
      const { value, done } = await this.#lines.next();
      const turn = done === true ? this.#assembler.flush() : this.#assembler.push(value);
      if (turn !== undefined || done === true) return turn;
    }
  }

  during(work: (interrupt: AbortSignal) => Promise<void>): Promise<void> {
    return work(new AbortController().signal);
  }

  async ask(): Promise<string> {
    return "";
  }

  close(): void {
    this.#interface.close();
  }
}

const prompt = "> ";
const morePrompt = "… ";

/** Turns typed on a terminal, with history, completion, and pastes of several lines. */
class TypedTurns implements TurnSource {
  readonly #assembler = new TurnAssembler();
  readonly #history = new History();
  readonly #keys: PasteFilter;
  readonly #interface: Interface;
  readonly #lines: AsyncIterator<string>;
  readonly #marksPastes = process.env.TERM !== "dumb";
  #isClosed = false;
  /** Whether the next Ctrl-C at an empty prompt ends the chat. */
  #endsAtInterrupt = false;
  /** Ends the question that is being asked. */
  #endQuestion: (() => void) | undefined;

  constructor(signal: AbortSignal) {
    this.#keys = new PasteFilter(process.stdin);
    this.#interface = createInterface({
      input: this.#keys,
      output: process.stdout,
      terminal: true,
      history: this.#history.read(),
      historySize: 1000,
      removeHistoryDuplicates: true,
      completer: complete,
      signal,
    });
    this.#lines = this.#interface[Symbol.asyncIterator]();
    this.#interface.on("SIGINT", () => (this.#endQuestion === undefined ? this.#interruptPrompt() : this.#interruptQuestion()));
    this.#interface.on("close", () => (this.#isClosed = true));
    // Answers to questions are no turns to repeat.
    this.#interface.on("history", (lines) => {
      if (this.#endQuestion !== undefined) lines.shift();
    });
    if (this.#marksPastes) process.stdout.write(bracketedPaste.on);
  }

  async next(): Promise<string | undefined> {
    for (;;) {
      if (!this.#isClosed) {
        this.#interface.setPrompt(this.#assembler.isPending ? morePrompt : prompt);
        this.#interface.prompt();
      }
      const { value, done } = await this.#lines.next();
      if (done === true) {
        process.stdout.write("\n");
        return undefined;
      }
      this.#endsAtInterrupt = false;
      this.#history.add(value);
      const turn = this.#assembler.push(withPastedLines(value));
      if (turn !== undefined) return turn;
    }
  }

  async during(work: (interrupt: AbortSignal) => Promise<void>): Promise<void> {
    const interrupt = new AbortController();
    this.#keys.hold(() => {
      if (interrupt.signal.aborted) this.#interface.close();
      this.#endsAtInterrupt = true;
      interrupt.abort();
    });
    try {
      await work(interrupt.signal);
    } finally {
      this.#keys.release();
    }
  }

  async ask(question: string): Promise<string> {
    if (this.#isClosed) return "";
    const holdAgain = this.#keys.pass();
    const ended = new AbortController();
    try {
      return await new Promise((resolve) => {
        this.#endQuestion = () => {
          ended.abort();
          resolve("");
        };
        this.#interface.once("close", this.#endQuestion);
        this.#interface.question(question, { signal: ended.signal }, resolve);
      });
    } finally {
      if (this.#endQuestion !== undefined) this.#interface.off("close", this.#endQuestion);
      this.#endQuestion = undefined;
      holdAgain();
    }
  }

  close(): void {
    this.#interface.close();
    this.#keys.detach();
    if (this.#marksPastes) process.stdout.write(bracketedPaste.off);
  }

  /** Handles Ctrl-C at a question: it is not answered, and the work is interrupted. */
  #interruptQuestion(): void {
    this.#endQuestion?.();
    this.#keys.interrupt();
  }

  /** Handles Ctrl-C at the prompt: drops the typed text. If none is typed, a second Ctrl-C ends the chat. */
  #interruptPrompt(): void {
    const isEmpty = this.#interface.line === "" && !this.#assembler.isPending;
    if (isEmpty && this.#endsAtInterrupt) {
      this.#interface.close();
      return;
    }
    this.#endsAtInterrupt = isEmpty;
    this.#assembler.flush();
    process.stdout.write(isEmpty ? "\n(Ctrl-C again, Ctrl-D or /exit ends the chat)\n" : "\n");
    this.#interface.write(null, { ctrl: true, name: "e" });
    this.#interface.write(null, { ctrl: true, name: "u" });
    this.#interface.setPrompt(prompt);
    this.#interface.prompt();
  }
}
