import { type Budget, Meter } from "../budget.ts";
import { argumentError, shown } from "../checks.ts";
import { regularOf } from "../expression/builders.ts";
import type { Regular } from "../expression/types.ts";
import { Automaton } from "./automaton.ts";
import { neverNode } from "./nodes.ts";

/** Whether no text matches. @throws {GrammarError} `GRAMMAR_BUDGET` if that cannot be decided within the budget */
export function isNever(regular: Regular, budget?: Budget): boolean {
  const automaton = new Automaton(new Meter(budget));
  return !automaton.isLive(automaton.stateOf(regularOf("isNever", regular)));
}

/** Whether the whole of `input`, a text or bytes, matches. @throws {GrammarError} `GRAMMAR_BUDGET` */
export function matches(regular: Regular, input: string | Uint8Array, budget?: Budget): boolean {
  const automaton = new Automaton(new Meter(budget));
  if (typeof input !== "string" && !(input instanceof Uint8Array)) throw argumentError("matches", "a text or bytes", shown(input));
  let state = automaton.stateOf(regularOf("matches", regular));
  for (const byte of typeof input === "string" ? new TextEncoder().encode(input) : input) {
    state = automaton.next(state, byte);
    if (state === neverNode) return false;
  }
  return state.isNullable;
}
