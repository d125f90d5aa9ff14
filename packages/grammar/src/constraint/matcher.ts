import { argumentError, shown } from "../checks.ts";
import { deadState, State } from "../parser/states.ts";
import type { Engine } from "./engine.ts";

/** What is accepted so far: the last step, and the steps before it. */
interface Step {
  readonly state: State;
  readonly previous: Step | undefined;
}

/** Follows one text, token by token. */
export class Matcher {
  readonly #engine: Engine;
  #last: Step;

  /** @internal */
  constructor(engine: Engine, last: Step = { state: engine.start, previous: undefined }) {
    this.#engine = engine;
    this.#last = last;
  }

  /** Whether the text so far matches the grammar as a whole. */
  get isComplete(): boolean {
    return this.#last.state.isComplete;
  }

  /** Whether no text of the grammar begins with the text so far. */
  get isDead(): boolean {
    return this.#last.state.isDead;
  }

  /**
   * Writes which tokens may come next: bit `id & 31` of word `id >> 5` is set for each. End tokens are allowed exactly where the text may
   * end; after one of them, and in a dead matcher, nothing is allowed.
   * @param into At least one word for every 32 tokens. Further words are left alone.
   * @returns whether any token is allowed
   * @throws {GrammarError} `GRAMMAR_BUDGET`, or `GRAMMAR_ARGUMENT` if `into` is too short
   */
  mask(into: Uint32Array): boolean {
    const { maskWords } = this.#engine.vocabulary;
    if (!(into instanceof Uint32Array) || into.length < maskWords)
      throw argumentError(
        "mask",
        `a Uint32Array of at least ${maskWords} words`,
        into instanceof Uint32Array ? `${into.length}` : shown(into),
      );
    if (this.#last.state === endedState) into.fill(0, 0, maskWords);
    else this.#engine.mask(this.#last.state, into);
    for (let i = 0; i < maskWords; i++) if (into[i] !== 0) return true;
    return false;
  }

  /**
   * Appends a token. A token that is not allowed leaves the matcher dead.
   * @returns whether it was allowed
   * @throws {GrammarError} `GRAMMAR_BUDGET`, or `GRAMMAR_ARGUMENT` if the id is outside the vocabulary; nothing is appended then
   */
  accept(id: number): boolean {
    const { vocabulary } = this.#engine;
    if (!Number.isInteger(id) || id < 0 || id >= vocabulary.size)
      throw argumentError("accept", `an id below ${vocabulary.size}`, shown(id));
    const bytes = vocabulary.bytesOf(id);
    if (bytes !== undefined) return this.acceptBytes(bytes);
    return this.#append(this.isComplete && vocabulary.endIds.includes(id) ? endedState : deadState);
  }

  /**
   * Appends bytes as one step, like a token with these bytes.
   * @returns whether a text of the grammar begins with the text so far
   * @throws {GrammarError} `GRAMMAR_BUDGET`, or `GRAMMAR_ARGUMENT` for other values; nothing is appended then
   */
  acceptBytes(bytes: Uint8Array): boolean {
    if (!(bytes instanceof Uint8Array)) throw argumentError("acceptBytes", "a Uint8Array", shown(bytes));
    if (this.#last.state === endedState) return this.#append(bytes.length === 0 ? endedState : deadState);
    return this.#append(this.#engine.after(this.#last.state, bytes));
  }

  /** Takes back the last `count` calls of `accept` and `acceptBytes`. @throws {GrammarError} `GRAMMAR_ARGUMENT` if there were fewer */
  rollback(count: number): void {
    const refused = () => argumentError("rollback", "a number of steps that were accepted", shown(count));
    if (!Number.isInteger(count) || count < 0) throw refused();
    let last = this.#last;
    for (let i = 0; i < count; i++) {
      if (last.previous === undefined) throw refused();
      last = last.previous;
    }
    this.#last = last;
  }

  /**
   * Bytes that must come next, at most 4,096 of them: empty where the text may also end, or go on in several ways.
   * @throws {GrammarError} `GRAMMAR_BUDGET`
   */
  forced(): Uint8Array {
    return this.#engine.forced(this.#last.state).slice();
  }

  /** A matcher of its own at the same position. Costs the same however long the text is. */
  fork(): Matcher {
    return new Matcher(this.#engine, this.#last);
  }

  #append(state: State): boolean {
    this.#last = { state, previous: this.#last };
    return !state.isDead;
  }
}

/** The state after an end token: complete, and nothing follows. */
const endedState = new State(-1, [], true);
