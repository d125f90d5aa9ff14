import type { Meter } from "../budget.ts";
import { ItemSets } from "../parser/itemSets.ts";
import type { Rules } from "../parser/rules.ts";
import { deadState, type State, States } from "../parser/states.ts";
import type { Automaton } from "../regular/automaton.ts";
import { addBit } from "../regular/byteSet.ts";
import type { Vocabulary } from "../vocabulary/vocabulary.ts";
import { type Exits, LexicalMasks, visitsPerStep } from "./lexicalMasks.ts";

/** Most bytes that {@link Engine.forced} follows. */
const maxForced = 4096;
/** Requests for the mask of one state from which on it is kept. */
const requestsToKeep = 2;

/** Answers what may follow in any state of one grammar, and keeps what it works out for all matchers. */
export class Engine {
  readonly vocabulary: Vocabulary;
  readonly #meter: Meter;
  readonly #automaton: Automaton;
  readonly #sets: ItemSets;
  readonly #states: States;
  readonly #lexical: LexicalMasks;
  /** Bytes that the grammar itself occupies. */
  readonly #permanentBytes: number;
  readonly #kept = new Map<State, { requests: number; mask: Uint32Array | undefined }>();
  readonly #forced = new Map<State, Uint8Array>();

  constructor(rules: Rules, automaton: Automaton, vocabulary: Vocabulary, meter: Meter) {
    this.vocabulary = vocabulary;
    this.#meter = meter;
    this.#automaton = automaton;
    this.#sets = new ItemSets(rules, meter);
    this.#states = new States(rules, this.#sets, automaton, meter);
    this.#lexical = new LexicalMasks(vocabulary, automaton, meter);
    this.#permanentBytes = meter.bytes;
  }

  /** Bytes that automata, states and masks occupy now, as estimated from their sizes. */
  get bytes(): number {
    return this.#meter.bytes;
  }

  /** The state of the empty text. */
  get start(): State {
    return this.#states.start;
  }

  /** The state after `bytes`, or `deadState`. @throws {GrammarError} `GRAMMAR_BUDGET` */
  after(state: State, bytes: Uint8Array): State {
    this.#begin();
    for (const byte of bytes) {
      state = this.#states.next(state, byte);
      if (state === deadState) break;
    }
    return state;
  }

  /** Sets the bits of all tokens that may follow. @throws {GrammarError} `GRAMMAR_BUDGET` */
  mask(state: State, into: Uint32Array): void {
    this.#begin();
    let kept = this.#kept.get(state);
    if (kept === undefined) {
      kept = { requests: 0, mask: undefined };
      this.#kept.set(state, kept);
      this.#meter.charge(100);
    }
    if (kept.mask !== undefined) {
      into.set(kept.mask);
      return;
    }
    this.#compute(state, into);
    if (++kept.requests < requestsToKeep) return;
    this.#meter.charge(4 * this.vocabulary.maskWords);
    kept.mask = into.slice(0, this.vocabulary.maskWords);
  }

  /** The bytes that must come next: none where the text may end or go on in several ways. */
  forced(state: State): Uint8Array {
    this.#begin();
    let forced = this.#forced.get(state);
    if (forced === undefined) {
      forced = this.#followForced(state);
      this.#forced.set(state, forced);
      this.#meter.charge(100 + forced.length);
    }
    return forced;
  }

  #followForced(state: State): Uint8Array {
    const bytes: number[] = [];
    while (bytes.length < maxForced && !state.isComplete) {
      const byte = this.#soleByte(state);
      if (byte === undefined) break;
      bytes.push(byte);
      state = this.#states.next(state, byte);
    }
    return Uint8Array.from(bytes);
  }

  /** Starts a call: its time is its own, and tables that fill half of the memory that the grammar leaves are dropped. */
  #begin(): void {
    this.#meter.restart();
    if (this.#meter.bytes <= (this.#permanentBytes + this.#meter.maxBytes) / 2) return;
    for (const table of [this.#automaton, this.#sets, this.#states, this.#lexical]) table.reset();
    this.#kept.clear();
    this.#forced.clear();
    this.#meter.bytes = this.#permanentBytes;
  }

  #compute(state: State, into: Uint32Array): void {
    let isClear = false;
    const clear = () => {
      if (!isClear) into.fill(0, 0, this.vocabulary.maskWords);
      isClear = true;
    };
    for (const thread of state.threads) {
      const { mask, ids, exits } = this.#lexical.of(thread.node);
      if (mask !== undefined && !isClear) {
        into.set(mask);
        isClear = true;
      } else if (mask !== undefined) for (let i = 0; i < mask.length; i++) into[i]! |= mask[i]!;
      clear();
      for (const id of ids) addBit(into, id);
      if (exits.length === 0) continue;
      const after = this.#states.afterThread(thread);
      for (const each of exits) this.#walk(each, after, into);
    }
    clear();
    if (state.isComplete) for (const id of this.vocabulary.endIds) addBit(into, id);
  }

  /** Adds the tokens whose bytes after an exit may follow `start`. */
  #walk({ trie, nodes }: Exits, start: State, into: Uint32Array): void {
    const { bytes, depths, ends, ids } = trie;
    const { twins } = this.vocabulary;
    const path = [start];
    let visited = 0;
    for (const exit of nodes) {
      const base = depths[exit]! + 1;
      for (let i = exit + 1; i < ends[exit]!; ) {
        visited++;
        const depth = depths[i]! - base;
        const next = this.#states.next(path[depth]!, bytes[i]!);
        if (next === deadState) {
          i = ends[i]!;
          continue;
        }
        path[depth + 1] = next;
        for (let id = ids[i]!; id >= 0; id = twins[id]!) addBit(into, id);
        i++;
      }
    }
    this.#meter.work(visited / visitsPerStep);
  }

  #soleByte(state: State): number | undefined {
    let sole: number | undefined;
    for (const { node } of state.threads) {
      for (const byte of this.#automaton.firstBytes(node)) {
        if (sole !== undefined && sole !== byte) return undefined;
        sole = byte;
      }
    }
    return sole;
  }
}
