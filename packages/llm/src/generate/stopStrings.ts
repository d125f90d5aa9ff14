import { ArgumentError } from "@centella/core";
import { check, describe, list, string } from "@centella/quant/checks";

/** What {@link StopStrings.push} lets out. */
export interface StopResult {
  /** Text that is certainly no part of a stop string. */
  readonly text: string;
  /** The stop string that ended the text, if one did; the text ends just before it. */
  readonly stopped?: string;
}

/** A place in the automaton: the longest tail of the text that begins some stop string. */
interface State {
  readonly depth: number;
  readonly next: Map<number, State>;
  /** Where to go on when no stop string continues with the next character: the longest shorter tail. */
  fallback: State | undefined;
  /** Longest stop string that ends here. */
  match: string | undefined;
}

/**
 * Watches a text that arrives in pieces for stop strings and withholds what could be the beginning of one. The first stop string
 * to be complete ends the text, the longest of those that are complete at the same character; how the text is cut into pieces
 * makes no difference. An Aho-Corasick automaton: the cost grows with the text only.
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

  /** After a stop string, further text gives nothing but the same `stopped`. */
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

  /** Ends the text: gives out what was withheld. Afterwards another text can be pushed. */
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
    // Breadth first, so that the shorter tails are linked before they are needed. The list grows while it is walked.
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
