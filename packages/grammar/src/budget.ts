import { argumentError, objectOf, shown } from "./checks.ts";
import { GrammarError } from "./errors.ts";

/** Limits of the work for one grammar. */
export interface Budget {
  /** Milliseconds that compiling, and each later call, may take. 1000 by default. */
  readonly milliseconds?: number;
  /** Bytes that automata, parser states and masks may occupy, as estimated from their sizes. 64 MiB by default. */
  readonly bytes?: number;
}

const defaultMilliseconds = 1000;
const defaultBytes = 64 * 2 ** 20;
/** Units of work between two looks at the clock. */
const interval = 512;

/** Counts memory and time against a {@link Budget}. Every part that can grow charges it before it grows. */
export class Meter {
  readonly maxBytes: number;
  readonly #milliseconds: number;
  #signal: AbortSignal | undefined;
  #deadline: number;
  #untilClock = interval;
  /** Bytes charged since the tables were last dropped. */
  bytes = 0;

  constructor(budget: Budget = {}, signal?: AbortSignal) {
    const { milliseconds = defaultMilliseconds, bytes = defaultBytes } = objectOf("budget", "{ milliseconds, bytes }", budget);
    if (![milliseconds, bytes].every((limit) => typeof limit === "number" && limit >= 0))
      throw argumentError("budget", "milliseconds and bytes of at least 0", `${shown(milliseconds)} and ${shown(bytes)}`);
    if (signal !== undefined && !(signal instanceof AbortSignal))
      throw argumentError("budget", "signal to be an AbortSignal", shown(signal));
    this.#milliseconds = milliseconds;
    this.maxBytes = bytes;
    this.#signal = signal;
    this.#deadline = performance.now() + milliseconds;
  }

  /** The limits as a text. */
  get limits(): string {
    return `${this.#milliseconds} ${this.maxBytes}`;
  }

  /** Starts the time of another call, which no signal stops. */
  restart(): void {
    this.#signal = undefined;
    this.#deadline = performance.now() + this.#milliseconds;
  }

  /** Records `bytes` of new memory. @throws {GrammarError} `GRAMMAR_BUDGET` */
  charge(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > this.maxBytes) throw exceeded(`at most ${this.maxBytes} bytes`, "more");
    this.work(1);
  }

  /** Records units of work of about 100 ns each. @throws {GrammarError} `GRAMMAR_BUDGET` @throws the signal's reason */
  work(units: number): void {
    this.#untilClock -= units;
    if (this.#untilClock > 0) return;
    this.#untilClock = interval;
    this.#signal?.throwIfAborted();
    if (performance.now() > this.#deadline) throw exceeded(`at most ${this.#milliseconds} ms of work`, "more");
  }
}

/** Returns a budget error. */
export function exceeded(expected: string, got: string): GrammarError {
  return new GrammarError("GRAMMAR_BUDGET", `grammar: expected ${expected}, got ${got}; simplify the grammar or raise the budget`);
}
