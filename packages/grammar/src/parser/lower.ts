import type { Meter } from "../budget.ts";
import { GrammarError } from "../errors.ts";
import { choice, isRegular, sequence } from "../expression/builders.ts";
import { ruleNamed } from "../expression/references.ts";
import type { Expression, Grammar, Regular, RepeatExpression } from "../expression/types.ts";
import type { Automaton } from "../regular/automaton.ts";
import type { Node } from "../regular/nodes.ts";

/** A terminal as an even number, a nonterminal as an odd one: `2 * index`, `2 * index + 1`. */
export type GrammarSymbol = number;

/** `lhs` matches the symbols in order, `min` to `max` times. Only productions of one symbol have counts other than 1. */
export interface Production {
  readonly lhs: number;
  readonly symbols: readonly GrammarSymbol[];
  readonly min: number;
  readonly max: number;
}

/** A grammar as productions. Nonterminal 0 is the start. */
export interface Productions {
  readonly productions: readonly Production[];
  readonly nonterminals: number;
  /** Start states of the terminals. */
  readonly terminals: readonly Node[];
}

/** Turns a grammar into productions. @throws {GrammarError} `GRAMMAR_REFERENCE` for a rule that is missing, `GRAMMAR_BUDGET` */
export function lower(grammar: Grammar, automaton: Automaton, meter: Meter): Productions {
  return new Lowering(grammar, automaton, meter).run();
}

class Lowering {
  readonly #grammar: Grammar;
  readonly #automaton: Automaton;
  readonly #meter: Meter;
  readonly #productions: Production[] = [];
  readonly #terminals = new Map<Node, number>();
  /** Indices by expression, in the order in which the expressions are defined. */
  readonly #nonterminals = new Map<Expression, number>();

  constructor(grammar: Grammar, automaton: Automaton, meter: Meter) {
    this.#grammar = grammar;
    this.#automaton = automaton;
    this.#meter = meter;
  }

  run(): Productions {
    this.#nonterminal(this.#grammar.start);
    for (const [expression, index] of this.#nonterminals) this.#define(index, expression);
    return { productions: this.#productions, nonterminals: this.#nonterminals.size, terminals: [...this.#terminals.keys()] };
  }

  #define(lhs: number, expression: Expression): void {
    if (expression.kind === "repeat" && !isRegular(expression)) {
      const { item, min, max } = expression as RepeatExpression;
      if (max > 0) this.#productions.push({ lhs, symbols: [this.#symbol(item)], min, max });
      else this.#produce(lhs, []);
      return;
    }
    const regular: Regular[] = [];
    for (const alternative of flattened("choice", expression, this.#meter)) {
      if (isRegular(alternative)) regular.push(alternative);
      else this.#produce(lhs, this.#symbolsOf(alternative));
    }
    if (regular.length > 0) this.#produce(lhs, [this.#terminal(choice(regular))]);
  }

  #produce(lhs: number, symbols: readonly GrammarSymbol[]): void {
    this.#meter.charge(64 + 8 * symbols.length);
    this.#productions.push({ lhs, symbols, min: 1, max: 1 });
  }

  /** Symbols of a sequence; adjacent regular items are one terminal. */
  #symbolsOf(expression: Expression): GrammarSymbol[] {
    const symbols: GrammarSymbol[] = [];
    let run: Regular[] = [];
    const endRun = () => {
      if (run.length > 0) symbols.push(this.#terminal(sequence(run)));
      run = [];
    };
    for (const item of flattened("sequence", expression, this.#meter)) {
      if (isRegular(item)) run.push(item);
      else {
        endRun();
        symbols.push(this.#symbol(item));
      }
    }
    endRun();
    return symbols;
  }

  #symbol(expression: Expression): GrammarSymbol {
    const target = this.#resolve(expression);
    if (isRegular(target)) return this.#terminal(target);
    return target.kind === "terminal" ? this.#terminal(target.item) : this.#nonterminal(target);
  }

  /** What a reference leads to, through references to references. */
  #resolve(expression: Expression): Expression {
    const seen = new Set<Expression>();
    while (expression.kind === "reference" && !seen.has(expression)) {
      seen.add(expression);
      const { name } = expression;
      const rule = ruleNamed(this.#grammar.rules, name);
      if (rule === undefined)
        throw new GrammarError(
          "GRAMMAR_REFERENCE",
          `compile: expected a rule for every reference, got none named ${JSON.stringify(name)}; add the rule`,
        );
      expression = rule;
    }
    return expression;
  }

  #terminal(regular: Regular): GrammarSymbol {
    const node = this.#automaton.stateOf(regular);
    const known = this.#terminals.get(node);
    if (known !== undefined) return 2 * known;
    this.#terminals.set(node, this.#terminals.size);
    return 2 * (this.#terminals.size - 1);
  }

  #nonterminal(expression: Expression): GrammarSymbol {
    let index = this.#nonterminals.get(expression);
    if (index === undefined) {
      this.#meter.charge(128);
      index = this.#nonterminals.size;
      this.#nonterminals.set(expression, index);
    }
    return 2 * index + 1;
  }
}

/** The parts of nested choices or sequences, in order. Regular parts stay whole. */
function flattened(kind: "choice" | "sequence", expression: Expression, meter: Meter): Expression[] {
  const parts: Expression[] = [];
  const stack = [expression];
  for (let each = stack.pop(); each !== undefined; each = stack.pop()) {
    meter.work(1);
    if (each.kind === kind && !isRegular(each)) {
      const { items } = each as { readonly items: readonly Expression[] };
      for (const item of items.toReversed()) stack.push(item);
    } else parts.push(each);
  }
  return parts;
}
