import type { Meter } from "../budget.ts";
import { elementAt, entryOf, soleOf } from "../lookup.ts";
import type { GrammarSymbol } from "./lower.ts";
import { endOfProduction, type Prediction, type Rules } from "./rules.ts";

/** A production that is matched up to a slot since the position of `origin`; `count` turns of a repetition are over. */
interface Item {
  readonly slot: number;
  readonly count: number;
  readonly origin: ItemSet;
}

/** Items at one position, and whether the text may end there. */
interface Items {
  /** The items by a text of what they are. */
  readonly items: ReadonlyMap<string, Item>;
  readonly isComplete: boolean;
}

/**
 * What may follow at a position of the text: an Earley set. Items that were predicted here are not stored but looked up in the rules, and other
 * items point to the sets where they began. So sets never point to themselves, and equal sets are one object.
 */
export interface ItemSet {
  readonly id: number;
  readonly items: readonly Item[];
  readonly predictions: readonly Prediction[];
  /** Terminals that may start here. */
  readonly terminals: readonly number[];
  readonly isComplete: boolean;
  /** What follows each symbol that starts here. */
  readonly followers: Map<GrammarSymbol, Items>;
  /** The sets after each terminal that starts here. */
  readonly successors: Map<number, ItemSet>;
}

/** Estimated bytes of a set and of an item in it. */
const setBytes = 400;
const itemBytes = 80;

/** Makes the sets of a grammar, each once until {@link reset}. */
export class ItemSets {
  /** The set before the first byte. The text is complete where the start's nonterminal, 0, ends that began here. */
  readonly start: ItemSet;
  readonly #rules: Rules;
  readonly #meter: Meter;
  readonly #sets = new Map<string, ItemSet>();
  #nextId = 0;

  constructor(rules: Rules, meter: Meter) {
    this.#rules = rules;
    this.#meter = meter;
    this.start = this.#set([], [rules.prediction(0)], rules.isNullable(startSymbol));
  }

  /** Forgets all sets. Those in use stay valid, and equal ones made later are other objects. */
  reset(): void {
    for (const set of [this.start, ...this.#sets.values()]) {
      set.followers.clear();
      set.successors.clear();
    }
    this.#sets.clear();
  }

  /** The set after `terminal`, which began at `set`. */
  after(set: ItemSet, terminal: number): ItemSet {
    let successor = set.successors.get(terminal);
    if (successor === undefined) {
      successor = this.#intern(this.#follow(set, 2 * terminal));
      set.successors.set(terminal, successor);
    }
    return successor;
  }

  /** The set after terminals that began at sets of their own and all end here. */
  afterAll(ended: readonly { readonly from: ItemSet; readonly terminal: number }[]): ItemSet {
    const sole = soleOf(ended);
    if (sole !== undefined) return this.after(sole.from, sole.terminal);
    const all = new Collection();
    for (const { from, terminal } of ended) all.addAll(this.#follow(from, 2 * terminal));
    return this.#intern(all);
  }

  #intern(kernel: Items): ItemSet {
    this.#meter.work(kernel.items.size);
    const key = `${kernel.isComplete}|${[...kernel.items.keys()].sort().join("|")}`;
    let set = this.#sets.get(key);
    if (set === undefined) {
      this.#meter.charge(2 * key.length);
      set = this.#closed(kernel);
      this.#sets.set(key, set);
    }
    return set;
  }

  /** Adds what is reached without a byte: predictions, and slots after symbols that may be empty. */
  #closed(kernel: Items): ItemSet {
    const all = new Collection();
    all.addAll(kernel);
    const predictions = new Set<Prediction>();
    for (const { slot, origin } of all.items.values()) {
      const symbol = elementAt(this.#rules.symbols, slot);
      if ((symbol & 1) === 1) predictions.add(this.#rules.prediction(symbol >> 1));
      // A repetition of what may be empty needs no turn at all, so its production has ended before.
      if (!this.#rules.isNullable(symbol) || this.#rules.repeats.has(slot)) continue;
      const ended = this.#advance(slot, 0, origin, all);
      if (ended) all.addAll(this.#follow(origin, ended));
    }
    return this.#set([...all.items.values()], [...predictions], all.isComplete);
  }

  #set(items: readonly Item[], predictions: readonly Prediction[], isComplete: boolean): ItemSet {
    this.#meter.charge(setBytes + items.length * itemBytes);
    const terminals = new Set<number>();
    for (const { slot } of items) {
      const symbol = elementAt(this.#rules.symbols, slot);
      if ((symbol & 1) === 0) terminals.add(symbol >> 1);
    }
    for (const prediction of predictions) for (const terminal of prediction.terminals) terminals.add(terminal);
    return {
      id: this.#nextId++,
      items,
      predictions,
      terminals: [...terminals],
      isComplete,
      followers: new Map(),
      successors: new Map(),
    };
  }

  /** What follows a symbol that began at `start` and ends here, through all productions that end here with it. */
  #follow(start: ItemSet, first: GrammarSymbol): Items {
    const stack: Ended[] = [{ set: start, symbol: first }];
    for (let last = stack.at(-1); last !== undefined; last = stack.at(-1)) {
      const { set, symbol } = last;
      if (!set.followers.has(symbol)) {
        const { all, older } = this.#followWithin(set, symbol);
        const missing = older.filter((each) => !each.set.followers.has(each.symbol));
        if (missing.length > 0) {
          for (const each of missing) stack.push(each);
          continue;
        }
        for (const each of older) all.addAll(entryOf(each.set.followers, each.symbol));
        this.#meter.charge(100 + all.items.size * itemBytes);
        this.#meter.work(all.items.size);
        set.followers.set(symbol, all);
      }
      stack.pop();
    }
    return entryOf(start.followers, first);
  }

  /** What follows a symbol that began at `set`, apart from what follows nonterminals that end with it and began at older sets. */
  #followWithin(set: ItemSet, first: GrammarSymbol): { readonly all: Collection; readonly older: readonly Ended[] } {
    const all = new Collection();
    const older = new Map<string, Ended>();
    const here = new Set([first]);
    for (const symbol of here) {
      for (const [slot, count, origin] of this.#waiting(set, symbol)) {
        this.#meter.work(1);
        const ended = this.#advance(slot, count, origin, all);
        if (ended === 0) continue;
        if (origin === set) here.add(ended);
        else older.set(`${origin.id}.${ended}`, { set: origin, symbol: ended });
      }
    }
    return { all, older: [...older.values()] };
  }

  /** The items of a set before `symbol`, predicted ones among them. */
  *#waiting(set: ItemSet, symbol: GrammarSymbol): Generator<readonly [slot: number, count: number, origin: ItemSet]> {
    for (const { slot, count, origin } of set.items) if (this.#rules.symbols[slot] === symbol) yield [slot, count, origin];
    for (const prediction of set.predictions) for (const slot of prediction.slots.get(symbol) ?? []) yield [slot, 0, set];
  }

  /** Adds what comes after the symbol at `slot`. Returns the nonterminal whose production ends with it, as a symbol, or 0 if none does. */
  #advance(slot: number, count: number, origin: ItemSet, all: Collection): GrammarSymbol {
    const { symbols, repeats } = this.#rules;
    const lhs = elementAt(this.#rules.lhs, slot);
    const repeat = repeats.get(slot);
    if (repeat !== undefined) {
      const turns = count + 1;
      // Without a maximum, turns beyond the minimum are all the same.
      if (turns < repeat.max) all.add({ slot, count: repeat.max === Infinity ? Math.min(turns, repeat.min) : turns, origin });
      if (turns < repeat.min) return 0;
    } else if (symbols[slot + 1] !== endOfProduction) {
      all.add({ slot: slot + 1, count: 0, origin });
      return 0;
    }
    if (lhs === 0 && origin === this.start) all.isComplete = true;
    return 2 * lhs + 1;
  }
}

const startSymbol: GrammarSymbol = 1;

/** A symbol that began at a set and ends here. */
interface Ended {
  readonly set: ItemSet;
  readonly symbol: GrammarSymbol;
}

/** Items without duplicates. */
class Collection implements Items {
  readonly items = new Map<string, Item>();
  isComplete = false;

  add(item: Item): void {
    const key = `${item.slot}.${item.count}.${item.origin.id}`;
    if (!this.items.has(key)) this.items.set(key, item);
  }

  addAll({ items, isComplete }: Items): void {
    for (const [key, item] of items) if (!this.items.has(key)) this.items.set(key, item);
    if (isComplete) this.isComplete = true;
  }
}
