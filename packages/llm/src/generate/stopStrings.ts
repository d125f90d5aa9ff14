import { ArgumentError } from "@centella/core";
import { check, describe, list, string } from "@centella/quant/checks";

/** Result of {@link StopStrings.push}. */
export interface StopResult {
  /** Text that cannot be part of a stop string. */
  readonly text: string;
  /** The stop string that ended the text, if any. The text ends just before it. */
  readonly stopped?: string;
}

/** A state of the automaton: the longest suffix of the text that is a prefix of a stop string. */
interface State {
  readonly depth: number;
  readonly next: Map<number, State>;
  /** State of the next shorter suffix, which is tried if no stop string continues with the next character. */
  fallback: State | undefined;
  /** Longest stop string that ends here. */
  match: string | undefined;
}

/**
 * Detects stop strings in a text that arrives in pieces, and withholds text that could be the beginning of one. The stop string that is
 * complete first ends the text; if several end at the same character, the longest one. The result does not depend on how the text is cut
 * into pieces. Uses an Aho-Corasick automaton: the cost is linear in the text and does not depend on the number of stop strings.
 */
export class StopStrings {
  readonly #root: State = { depth: 0, next: new Map(), fallback: undefined, match: undefined };
  #state: State = this.#root;
  #held = "";
  #stopped: string | undefined;

  /** @throws {ArgumentError} if a stop string is empty */
  constructor(stops: readonly string[]) {
    check("StopStrings", "stops", stops, list);
    for (const stop of stops) this.#add(stop);
    this.#link();
  }

  /** Adds text. After a stop string, the result is always the same `stopped` without text. */
  push(text: string): StopResult {
    check("StopStrings", "text", text, string);
    if (this.#stopped !== undefined) return { text: "", stopped: this.#stopped };
    const held = this.#held + text;
    for (let i = this.#held.length; i < held.length; i++) {
      this.#step(held.charCodeAt(i));
      const { match } = this.#state;
      if (match === undefined) continue;
      this.#stopped = match;
      this.#held = "";
      return { text: held.slice(0, i + 1 - match.length), stopped: match };
    }
    const certain = held.length - this.#state.depth;
    this.#held = held.slice(certain);
    return { text: held.slice(0, certain) };
  }

  /** Ends the text and returns what was withheld. Afterwards another text can be pushed. */
  flush(): string {
    const text = this.#held;
    this.#held = "";
    this.#state = this.#root;
    this.#stopped = undefined;
    return text;
  }

  #add(stop: string): void {
    if (typeof stop !== "string" || stop === "") {
      throw new ArgumentError("stop", "strings of at least one character", describe(stop));
    }
    let state = this.#root;
    for (let i = 0; i < stop.length; i++) {
      const code = stop.charCodeAt(i);
      let child = state.next.get(code);
      if (child === undefined) {
        child = { depth: i + 1, next: new Map(), fallback: undefined, match: undefined };
        state.next.set(code, child);
      }
      state = child;
    }
    state.match = stop;
  }

  #link(): void {
    // Breadth first, so that shorter suffixes are linked before they are needed. The list grows during the loop.
    const states = [this.#root];
    for (const state of states) {
      for (const [code, child] of state.next) {
        let fallback = state.fallback;
        while (fallback !== undefined && !fallback.next.has(code)) fallback = fallback.fallback;
        child.fallback = fallback?.next.get(code) ?? this.#root;
        child.match ??= child.fallback.match;
        states.push(child);
      }
    }
  }

  #step(code: number): void {
    let state: State | undefined = this.#state;
    while (state !== undefined && !state.next.has(code)) state = state.fallback;
    this.#state = state?.next.get(code) ?? this.#root;
  }
}
