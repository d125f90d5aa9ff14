import { type Budget, Meter } from "../budget.ts";
import { argumentError, objectOf, shown } from "../checks.ts";
import { GrammarError } from "../errors.ts";
import { expressionOf } from "../expression/builders.ts";
import type { Grammar } from "../expression/types.ts";
import { lower } from "../parser/lower.ts";
import { Rules } from "../parser/rules.ts";
import { Automaton } from "../regular/automaton.ts";
import { Vocabulary } from "../vocabulary/vocabulary.ts";
import { Constraint } from "./constraint.ts";
import { Engine } from "./engine.ts";
import { grammarKey } from "./grammarKey.ts";

/** Options of {@link compile}. */
export interface CompileOptions {
  /** Limits of compiling, and of each later call. */
  readonly budget?: Budget;
  /** Stops compiling, with its reason. */
  readonly signal?: AbortSignal;
}

/** Most bytes of constraints that are kept for one vocabulary, as far as more than the latest one is kept. */
const maxKeptBytes = 64 * 2 ** 20;

/** Constraints by the keys of their grammars, the least recently used first. */
const kept = new WeakMap<Vocabulary, Map<string, Constraint>>();

/** Keys of grammars that were compiled before. */
const keys = new WeakMap<Grammar, string>();

/**
 * Compiles a grammar for a vocabulary. Automata are built later, as far as texts need them. A grammar of the same structure gives the same
 * constraint again, as long as it was used recently. Do not change a grammar once it was compiled.
 * @throws {GrammarError} `GRAMMAR_EMPTY` if no text matches, `GRAMMAR_REFERENCE` for a rule that is missing, `GRAMMAR_BUDGET`
 */
export function compile(grammar: Grammar, vocabulary: Vocabulary, options: CompileOptions = {}): Constraint {
  const { budget, signal } = objectOf("compile", "options { budget, signal }", options);
  if (!(vocabulary instanceof Vocabulary)) throw argumentError("compile", "a vocabulary from vocabulary()", shown(vocabulary));
  const { start, rules } = objectOf("compile", "a grammar { start, rules }", grammar);
  for (const expression of [start, ...Object.values(objectOf("compile", "rules by their names", rules))]) expressionOf(expression);
  const meter = new Meter(budget, signal);
  signal?.throwIfAborted();
  const key = `${meter.limits}\n${keyOf(grammar, meter)}`;
  let constraints = kept.get(vocabulary);
  if (constraints === undefined) {
    constraints = new Map();
    kept.set(vocabulary, constraints);
  }
  const constraint = constraints.get(key) ?? compiled(grammar, vocabulary, meter);
  constraints.delete(key);
  constraints.set(key, constraint);
  evict(constraints);
  return constraint;
}

function keyOf(grammar: Grammar, meter: Meter): string {
  const key = keys.get(grammar) ?? grammarKey(grammar, meter);
  keys.set(grammar, key);
  return key;
}

function compiled(grammar: Grammar, vocabulary: Vocabulary, meter: Meter): Constraint {
  const automaton = new Automaton(meter);
  const rules = new Rules(lower(grammar, automaton, meter), automaton, meter);
  if (!rules.isLive)
    throw new GrammarError(
      "GRAMMAR_EMPTY",
      "compile: expected a grammar that some text matches, got one that no text matches; relax the grammar",
    );
  automaton.keep();
  const constraint = new Constraint(new Engine(rules, automaton, vocabulary, meter));
  meter.restart();
  return constraint;
}

/** Drops the least recently used constraints until the others fit. */
function evict(constraints: Map<string, Constraint>): void {
  let bytes = 0;
  for (const [key, constraint] of [...constraints].reverse()) {
    bytes += 2 * key.length + constraint.bytes;
    if (bytes > maxKeptBytes && constraints.size > 1) constraints.delete(key);
  }
}
