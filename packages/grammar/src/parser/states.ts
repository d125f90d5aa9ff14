import type { Meter } from "../budget.ts";
import { elementAt } from "../lookup.ts";
import type { Automaton } from "../regular/automaton.ts";
import type { ByteClasses } from "../regular/byteClasses.ts";
import { emptyNode, type Node, neverNode } from "../regular/nodes.ts";
import type { ItemSet, ItemSets } from "./itemSets.ts";
import type { Rules } from "./rules.ts";

/** A terminal that began at the set `from` and is matched up to the state `node`. */
export interface Thread {
  readonly terminal: number;
  readonly from: ItemSet;
  readonly node: Node;
}

/** Everything that is known of the text after some bytes: the state of a deterministic automaton whose states are made on demand. */
export class State {
  readonly id: number;
  /** Terminals under way, those that begin here among them. */
  readonly threads: readonly Thread[];
  /** Whether the text may end here. */
  readonly isComplete: boolean;
  /** For each class of bytes that lead to the same state, that state; undefined until it is known. */
  steps: { readonly classes: ByteClasses; readonly states: (State | undefined)[] } | undefined = undefined;

  constructor(id: number, threads: readonly Thread[], isComplete: boolean) {
    this.id = id;
    this.threads = threads;
    this.isComplete = isComplete;
  }

  /** Whether no text goes on or ends here. */
  get isDead(): boolean {
    return this.threads.length === 0 && !this.isComplete;
  }
}

/** Nothing matches any more. */
export const deadState: State = new State(0, [], false);

const stateBytes = 200;
const threadBytes = 80;
const rowBytes = 64;
const targetBytes = 8;
/** Most threads of a state whose classes are worth finding. */
const maxRefined = 16;

/** Makes the states of a grammar, each once until {@link reset}. */
export class States {
  readonly start: State;
  readonly automaton: Automaton;
  readonly #rules: Rules;
  readonly #sets: ItemSets;
  readonly #meter: Meter;
  readonly #states = new Map<string, State>();
  #nextId = 1;

  constructor(rules: Rules, sets: ItemSets, automaton: Automaton, meter: Meter) {
    this.#rules = rules;
    this.#sets = sets;
    this.automaton = automaton;
    this.#meter = meter;
    this.start = this.#intern([], sets.start);
  }

  /** Forgets all states. Those in use stay valid, and equal ones made later are other objects. */
  reset(): void {
    for (const state of [this.start, ...this.#states.values()]) state.steps = undefined;
    this.#states.clear();
  }

  /** The state after `byte`: `deadState` exactly if nothing matches from there on. @throws {GrammarError} `GRAMMAR_BUDGET` */
  next(state: State, byte: number): State {
    if (state.steps === undefined) {
      const classes = this.#classesOf(state.threads);
      this.#meter.charge(rowBytes + targetBytes * classes.firsts.length);
      state.steps = { classes, states: new Array(classes.firsts.length).fill(undefined) };
    }
    const { classes, states } = state.steps;
    const index = classes.of[byte]!;
    const known = states[index];
    if (known !== undefined) return known;
    const next = this.#step(state, byte);
    states[index] = next;
    return next;
  }

  /** Bytes that all threads treat alike. */
  #classesOf(threads: readonly Thread[]): ByteClasses {
    const { byteClasses } = this.automaton;
    if (threads.length > maxRefined) return byteClasses.single;
    return threads.map(({ node }) => this.automaton.classesOf(node)).reduce((all, each) => byteClasses.refine(all, each), byteClasses.all);
  }

  /** The state if `thread` ends here, all others apart. */
  afterThread({ from, terminal }: Thread): State {
    return this.#intern([], this.#sets.after(from, terminal));
  }

  #step(state: State, byte: number): State {
    const threads: Thread[] = [];
    const ended: Thread[] = [];
    for (const { terminal, from, node } of state.threads) {
      const next = this.automaton.next(node, byte);
      if (next === neverNode) continue;
      const thread = { terminal, from, node: next };
      if (next !== emptyNode) threads.push(thread);
      if (next.isNullable) ended.push(thread);
    }
    this.#meter.work(state.threads.length);
    return this.#intern(threads, ended.length === 0 ? undefined : this.#sets.afterAll(ended));
  }

  #intern(threads: readonly Thread[], set: ItemSet | undefined): State {
    if (threads.length === 0 && set === undefined) return deadState;
    const keys = threads.map(({ terminal, from, node }) => `${terminal}.${from.id}.${node.id}`).sort();
    const key = `${set?.id ?? ""}|${keys.join("|")}`;
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    const begun = set === undefined ? [] : this.#begunAt(set);
    this.#meter.charge(stateBytes + 2 * key.length + (threads.length + begun.length) * threadBytes);
    const state = new State(this.#nextId++, [...threads, ...begun.filter(({ node }) => node !== emptyNode)], set?.isComplete ?? false);
    this.#states.set(key, state);
    return state;
  }

  #begunAt(from: ItemSet): Thread[] {
    return from.terminals.map((terminal) => ({ terminal, from, node: elementAt(this.#rules.terminals, terminal) }));
  }
}
