import type { Meter } from "../budget.ts";
import { elementAt } from "../lookup.ts";
import type { Automaton } from "../regular/automaton.ts";
import type { Node } from "../regular/nodes.ts";
import type { GrammarSymbol, Production, Productions } from "./lower.ts";

/** Marks the slot after the last symbol of a production. */
export const endOfProduction = -1;

/** What a nonterminal may start with: slots of productions, its own and those of nonterminals that it may start with. */
export interface Prediction {
  /** Slots by the symbol that is next there. */
  readonly slots: ReadonlyMap<GrammarSymbol, readonly number[]>;
  /** Terminals among those symbols. */
  readonly terminals: readonly number[];
}

/**
 * The productions of a grammar as slots, which are positions in them. Slot 0 is the start. Every symbol can be completed to a text, and what
 * follows a repetition is counted in its items.
 */
export class Rules {
  /** Start states of the terminals. */
  readonly terminals: readonly Node[];
  /** The symbol that is next at each slot, or {@link endOfProduction}. */
  readonly symbols: readonly GrammarSymbol[];
  /** The nonterminal that each slot's production defines. */
  readonly lhs: readonly number[];
  /** Counts of the slots that repeat. */
  readonly repeats: ReadonlyMap<number, { readonly min: number; readonly max: number }>;
  /** First slots of each nonterminal's productions. */
  readonly #first: ReadonlyMap<number, readonly number[]>;
  readonly #nullable: ReadonlySet<GrammarSymbol>;
  readonly #predictions = new Map<number, Prediction>();
  readonly #meter: Meter;

  constructor(grammar: Productions, automaton: Automaton, meter: Meter) {
    this.#meter = meter;
    this.terminals = grammar.terminals;
    const productive = derivable(grammar, (node) => automaton.isLive(node));
    const productions = grammar.productions.flatMap((each) => withoutDeadEnds(each, productive));
    this.#nullable = derivable({ ...grammar, productions }, (node) => node.isNullable);

    const symbols: GrammarSymbol[] = [];
    const lhs: number[] = [];
    const repeats = new Map<number, { min: number; max: number }>();
    const first = new Map<number, number[]>();
    for (const { lhs: nonterminal, symbols: right, min, max } of productions) {
      const own = first.get(nonterminal) ?? [];
      first.set(nonterminal, own);
      own.push(symbols.length);
      // What may be empty may also be left out: counts of empty turns would be endless work for nothing.
      if (max !== 1 || min !== 1) repeats.set(symbols.length, { min: right.every((symbol) => this.isNullable(symbol)) ? 0 : min, max });
      symbols.push(...right, endOfProduction);
      for (let i = 0; i <= right.length; i++) lhs.push(nonterminal);
    }
    [this.symbols, this.lhs, this.repeats, this.#first] = [symbols, lhs, repeats, first];
  }

  /** Whether the start has a production, so that the grammar matches any text. */
  get isLive(): boolean {
    return this.#first.has(0);
  }

  /** Whether a symbol matches the empty text. */
  isNullable(symbol: GrammarSymbol): boolean {
    return this.#nullable.has(symbol);
  }

  /** What a nonterminal may start with. */
  prediction(nonterminal: number): Prediction {
    let prediction = this.#predictions.get(nonterminal);
    if (prediction === undefined) {
      prediction = this.#predict(nonterminal);
      this.#predictions.set(nonterminal, prediction);
    }
    return prediction;
  }

  #predict(start: number): Prediction {
    const slots = new Map<GrammarSymbol, number[]>();
    const nonterminals = new Set([start]);
    for (const nonterminal of nonterminals) {
      for (const first of this.#first.get(nonterminal) ?? []) {
        for (let slot = first; ; slot++) {
          const symbol = elementAt(this.symbols, slot);
          if (symbol === endOfProduction) break;
          this.#meter.charge(16);
          const known = slots.get(symbol);
          if (known === undefined) slots.set(symbol, [slot]);
          else known.push(slot);
          if ((symbol & 1) === 1) nonterminals.add(symbol >> 1);
          if (!this.isNullable(symbol)) break;
        }
      }
    }
    return { slots, terminals: [...slots.keys()].filter((symbol) => (symbol & 1) === 0).map((symbol) => symbol >> 1) };
  }
}

/** The terminals that hold, and the nonterminals with a production all of whose symbols hold. */
function derivable({ productions, terminals }: Productions, terminalHolds: (terminal: Node) => boolean): Set<GrammarSymbol> {
  const holding = new Set<GrammarSymbol>();
  for (const [i, terminal] of terminals.entries()) if (terminalHolds(terminal)) holding.add(2 * i);
  const waiting = new Map<GrammarSymbol, { readonly lhs: GrammarSymbol; missing: number }[]>();
  for (const { lhs, symbols, min } of productions) {
    const production = { lhs: 2 * lhs + 1, missing: symbols.length };
    if (production.missing === 0 || min === 0) holding.add(production.lhs);
    for (const symbol of symbols) {
      const users = waiting.get(symbol);
      if (users === undefined) waiting.set(symbol, [production]);
      else users.push(production);
    }
  }
  // The set grows on the way: every symbol in it is visited once.
  for (const symbol of holding) for (const user of waiting.get(symbol) ?? []) if (--user.missing === 0) holding.add(user.lhs);
  return holding;
}

/** The production if all its symbols are productive, as the empty one if it may repeat zero times, or none. */
function withoutDeadEnds(production: Production, productive: ReadonlySet<GrammarSymbol>): Production[] {
  if (production.symbols.every((symbol) => productive.has(symbol))) return [production];
  return production.min === 0 ? [{ lhs: production.lhs, symbols: [], min: 1, max: 1 }] : [];
}
