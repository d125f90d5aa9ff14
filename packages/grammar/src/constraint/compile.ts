import { type Budget, Meter } from "../budget.ts";
import { GrammarError } from "../errors.ts";
import { argumentError } from "../expression/builders.ts";
import type { Grammar } from "../expression/types.ts";
import { lower } from "../parser/lower.ts";
import { Rules } from "../parser/rules.ts";
import { Automaton } from "../regular/automaton.ts";
import { Vocabulary } from "../vocabulary/vocabulary.ts";
import { Constraint } from "./constraint.ts";
import { Engine } from "./engine.ts";

/** Options of {@link compile}. */
export interface CompileOptions {
  /** Limits of compiling, and of each later call. */
  readonly budget?: Budget;
  /** Stops compiling, with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * Compiles a grammar for a vocabulary. Automata are built later, as far as texts need them.
 * @throws {GrammarError} `GRAMMAR_EMPTY` if no text matches, `GRAMMAR_REFERENCE` for a rule that is missing, `GRAMMAR_BUDGET`
 */
export function compile(grammar: Grammar, vocabulary: Vocabulary, { budget, signal }: CompileOptions = {}): Constraint {
  if (!(vocabulary instanceof Vocabulary)) throw argumentError("compile", "a vocabulary from vocabulary()", typeof vocabulary);
  signal?.throwIfAborted();
  const meter = new Meter(budget, signal);
  const automaton = new Automaton(meter);
  const rules = new Rules(lower(grammar, automaton, meter), automaton, meter);
  if (!rules.isLive)
    throw new GrammarError(
      "GRAMMAR_EMPTY",
      "compile: expected a grammar that some text matches, got one that no text matches; relax the grammar",
    );
  return new Constraint(new Engine(rules, automaton, vocabulary, meter));
}
