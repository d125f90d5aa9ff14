import type { Meter } from "../budget.ts";
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
  readonly #first: readonly (readonly number[])[];
  readonly #isNullable: readonly boolean[];
  readonly #predictions = new Map<number, Prediction>();
  readonly #meter: Meter;

  constructor(grammar: Productions, automaton: Automaton, meter: Meter) {
    this.#meter = meter;
    this.terminals = grammar.terminals;
    const isLive = grammar.terminals.map((node) => automaton.isLive(node));
    const isProductive = derivable(grammar, (terminal) => isLive[terminal]!);
    const productions = grammar.productions.flatMap((each) => withoutDeadEnds(each, (symbol) => holds(symbol, isLive, isProductive)));
    const isEmpty = grammar.terminals.map((node) => node.isNullable);
    this.#isNullable = derivable({ ...grammar, productions }, (terminal) => isEmpty[terminal]!);

    const symbols: GrammarSymbol[] = [];
    const lhs: number[] = [];
    const repeats = new Map<number, { min: number; max: number }>();
    const first: number[][] = Array.from({ length: grammar.nonterminals }, () => []);
    for (const { lhs: nonterminal, symbols: right, min, max } of productions) {
      first[nonterminal]!.push(symbols.length);
      // What may be empty may also be left out: counts of empty turns would be endless work for nothing.
      if (max !== 1 || min !== 1) repeats.set(symbols.length, { min: this.isNullable(right[0]!) ? 0 : min, max });
      symbols.push(...right, endOfProduction);
      for (let i = 0; i <= right.length; i++) lhs.push(nonterminal);
    }
    [this.symbols, this.lhs, this.repeats, this.#first] = [symbols, lhs, repeats, first];
  }

  /** Whether the start has a production, so that the grammar matches any text. */
  get isLive(): boolean {
    return this.#first[0]!.length > 0;
  }

  /** Whether a symbol matches the empty text. */
  isNullable(symbol: GrammarSymbol): boolean {
    return (symbol & 1) === 0 ? this.terminals[symbol >> 1]!.isNullable : this.#isNullable[symbol >> 1]!;
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
      for (let slot of this.#first[nonterminal]!) {
        for (; this.symbols[slot] !== endOfProduction; slot++) {
          this.#meter.charge(16);
          const symbol = this.symbols[slot]!;
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

/** The nonterminals with a production all of whose symbols hold, starting from terminals that do. */
function derivable({ productions, nonterminals }: Productions, terminalHolds: (terminal: number) => boolean): boolean[] {
  const holding: boolean[] = new Array(nonterminals).fill(false);
  const waiting = new Map<number, number[]>();
  const missing = productions.map(({ symbols }) => symbols.length);
  const found: number[] = [];
  const settle = (production: number) => {
    const { lhs } = productions[production]!;
    if (holding[lhs]) return;
    holding[lhs] = true;
    found.push(lhs);
  };
  for (const [i, { symbols, min }] of productions.entries()) {
    for (const symbol of symbols) {
      if ((symbol & 1) === 0) missing[i]! -= terminalHolds(symbol >> 1) ? 1 : 0;
      else if (waiting.has(symbol >> 1)) waiting.get(symbol >> 1)!.push(i);
      else waiting.set(symbol >> 1, [i]);
    }
    if (missing[i] === 0 || min === 0) settle(i);
  }
  for (const nonterminal of found) for (const i of waiting.get(nonterminal) ?? []) if (--missing[i]! === 0) settle(i);
  return holding;
}

function holds(symbol: GrammarSymbol, terminals: readonly boolean[], nonterminals: readonly boolean[]): boolean {
  return ((symbol & 1) === 0 ? terminals : nonterminals)[symbol >> 1]!;
}

/** The production if all its symbols are productive, as the empty one if it may repeat zero times, or none. */
function withoutDeadEnds(production: Production, isProductive: (symbol: GrammarSymbol) => boolean): Production[] {
  if (production.symbols.every(isProductive)) return [production];
  return production.min === 0 ? [{ lhs: production.lhs, symbols: [], min: 1, max: 1 }] : [];
}
