import { argumentError, objectOf, shown } from "./checks.ts";
import { GrammarError } from "./errors.ts";

/** Limits of the work for one grammar. They do not depend on the machine: what one machine takes, others take as well. */
export interface Budget {
  /** Steps that compiling, and each later call, may take, of 0.2 to 0.5 µs each. 4,000,000 by default, which takes 1 to 2 s. */
  readonly steps?: number;
  /** Bytes that automata, parser states and masks may occupy, as estimated from their sizes. 64 MiB by default. */
  readonly bytes?: number;
}

const defaultSteps = 4e6;
const defaultBytes = 64 * 2 ** 20;
/** Longest time of a call in milliseconds: a net under steps that take far longer than they should. */
const longestCall = 20_000;
/** Steps between two looks at the signal and the clock. */
const interval = 512;

/** Counts memory and steps against a {@link Budget}. Every part that can grow charges it before it grows. */
export class Meter {
  readonly maxBytes: number;
  readonly #maxSteps: number;
  #signal: AbortSignal | undefined;
  #left: number;
  #nextLook: number;
  /** When the time was looked at first in this call. */
  #startedAt: number | undefined;
  /** Bytes charged since the tables were last dropped. */
  bytes = 0;

  constructor(budget: Budget = {}, signal?: AbortSignal) {
    const { steps = defaultSteps, bytes = defaultBytes } = objectOf("budget", "{ steps, bytes }", budget);
    if (![steps, bytes].every((limit) => typeof limit === "number" && limit >= 0))
      throw argumentError("budget", "steps and bytes of at least 0", `${shown(steps)} and ${shown(bytes)}`);
    if (signal !== undefined && !(signal instanceof AbortSignal))
      throw argumentError("budget", "signal to be an AbortSignal", shown(signal));
    this.#maxSteps = steps;
    this.maxBytes = bytes;
    this.#signal = signal;
    this.#left = steps;
    this.#nextLook = steps - interval;
  }

  /** The limits as a text. */
  get limits(): string {
    return `${this.#maxSteps} ${this.maxBytes}`;
  }

  /** Starts the steps of another call, which no signal stops. */
  restart(): void {
    this.#signal = undefined;
    this.#left = this.#maxSteps;
    this.#nextLook = this.#maxSteps - interval;
    this.#startedAt = undefined;
  }

  /** Records `bytes` of new memory. @throws {GrammarError} `GRAMMAR_BUDGET` */
  charge(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > this.maxBytes) throw exceeded(`at most ${this.maxBytes} bytes`, "more");
    this.work(1);
  }

  /** Records steps of work. @throws {GrammarError} `GRAMMAR_BUDGET` @throws the signal's reason */
  work(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw exceeded(`at most ${this.#maxSteps} steps of work`, "more");
    if (this.#left > this.#nextLook) return;
    this.#nextLook = this.#left - interval;
    this.#signal?.throwIfAborted();
    this.#startedAt ??= performance.now();
    if (performance.now() - this.#startedAt > longestCall) throw exceeded(`at most ${longestCall / 1000} s of work`, "more");
  }
}

/** Returns a budget error. */
export function exceeded(expected: string, got: string): GrammarError {
  return new GrammarError("GRAMMAR_BUDGET", `grammar: expected ${expected}, got ${got}; simplify the grammar or raise the budget`);
}
