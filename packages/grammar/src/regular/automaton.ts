import type { Meter } from "../budget.ts";
import type { Regular } from "../expression/types.ts";
import { elementAt, soleOf } from "../lookup.ts";
import { type ByteClasses, ByteClassTable } from "./byteClasses.ts";
import { type ByteSet, byteSet, has, narrow } from "./byteSet.ts";
import { intern } from "./intern.ts";
import { emptyNode, type Node, neverNode, type Steps, stepBy } from "./nodes.ts";
import { NodeTable } from "./nodeTable.ts";

/** Estimated bytes of a row, and of one state in it. */
const rowBytes = 64;
const targetBytes = 8;
const allBytes = byteSet([[0, 255]]);

/** Most items of a choice whose derivatives are worth keeping: those of longer ones, such as many counters, hardly come back. */
const maxShared = 32;

/** Bytes of a character after its first. */
const maxTail = 3;

/** A deterministic automaton over bytes, built as far as it is walked. Its states are expressions, its steps Brzozowski derivatives. */
export class Automaton {
  readonly meter: Meter;
  readonly byteClasses: ByteClassTable;
  readonly #table: NodeTable;
  readonly #soleSets: ByteSet[] = [];

  constructor(meter: Meter) {
    this.meter = meter;
    this.byteClasses = new ByteClassTable(meter);
    this.#table = new NodeTable(meter);
  }

  /** The state that matches what `regular` matches. @throws {GrammarError} `GRAMMAR_BUDGET` */
  stateOf(regular: Regular): Node {
    return intern(this.#table, regular);
  }

  /** The state that matches `item` `min` to `max` times. */
  repeat(item: Node, min: number, max: number): Node {
    return this.#table.repeat(item, min, max);
  }

  /** Makes the states that exist now permanent. */
  keep(): void {
    this.#table.keep();
  }

  /** Forgets all other states. Those in use stay valid, and equal ones made later are other objects. */
  reset(): void {
    this.byteClasses.reset();
    this.#table.reset();
  }

  /**
   * A state that strings of up to `length` bytes cannot tell from `node`: they leave both alive or dead, and nullable or not. Counts beyond
   * `length` are the same in it, so that many states have one clamped form.
   *
   * The clamped form of an intersection may stay alive where `node` is dead: its counts may decide what is alive. Where a state of the clamped
   * form has a {@link Node.distance} of at most `slack`, though, `node` is alive as well.
   */
  clamp(node: Node, length: number, slack: number): Node {
    if (!node.isComplex) return this.#clampHeads(node, length, maxTail);
    const [head, tail] = node.body.kind === "pair" ? [node.body.head, node.body.tail] : [node, emptyNode];
    if (head.body.kind !== "and") return node;
    // A string of `length` bytes and one of `slack` bytes after it are too short to exceed a count that is dropped.
    const items = head.body.items.map((item) => (item.isComplex ? item : this.#clampHeads(item, length + slack, maxTail)));
    return this.#table.sequence(this.#table.and(items), tail);
  }

  #clampHeads(node: Node, length: number, tail: number): Node {
    const { body } = node;
    switch (body.kind) {
      case "repeat":
        return this.#table.repeat(body.item, Math.min(body.min, length + 1), body.max >= length ? Infinity : body.max);
      case "choice":
        return this.#table.choice(body.items.map((item) => this.#clampHeads(item, length, tail)));
      case "pair": {
        // The rest of a character of several bytes comes before the rest of its repetition.
        const isInCharacter = body.head.body.kind === "bytes" && tail > 0;
        const rest = isInCharacter ? this.#clampHeads(body.tail, length, tail - 1) : body.tail;
        return this.#table.sequence(this.#clampHeads(body.head, length, tail), rest);
      }
      default:
        return node;
    }
  }

  /** The state after `byte`: `neverNode` exactly if nothing matches from there on. @throws {GrammarError} `GRAMMAR_BUDGET` */
  next(node: Node, byte: number): Node {
    if (node.soleByte >= 0) return node.soleByte === byte ? this.#soleNext(node) : neverNode;
    return stepBy(this.row(node), byte);
  }

  /** Bytes that lead to the same state. */
  classesOf(node: Node): ByteClasses {
    if (node.soleByte >= 0) return this.byteClasses.sole(node.soleByte);
    return this.#derivatives(node).classes;
  }

  /** The states after the bytes of each class: `neverNode` exactly where nothing matches. @throws {GrammarError} `GRAMMAR_BUDGET` */
  row(node: Node): Steps {
    if (node.row !== undefined) return node.row;
    const row = this.#derivatives(node);
    if (node.isComplex) for (const [i, next] of row.nodes.entries()) if (!this.isLive(next)) row.nodes[i] = neverNode;
    node.row = row;
    return row;
  }

  /** Bytes that matching strings start with. */
  firstBytes(node: Node): readonly number[] {
    if (node.soleByte >= 0) return [node.soleByte];
    const row = this.row(node);
    const bytes: number[] = [];
    for (let byte = 0; byte < 256; byte++) if (stepBy(row, byte) !== neverNode) bytes.push(byte);
    return bytes;
  }

  /** Whether `node` matches any string. @throws {GrammarError} `GRAMMAR_BUDGET` */
  isLive(node: Node): boolean {
    if (node.isLive === undefined && infinitePart(node) !== undefined) node.isLive = true;
    return node.isLive ?? this.#search(node);
  }

  #soleNext(node: Node): Node {
    node.soleNext ??= this.#ownDerivative(node, node.soleByte, allBytes.slice());
    return node.soleNext;
  }

  /** The derivatives by class, which may be dead without being `neverNode`. */
  #derivatives(node: Node): Steps {
    if (node.derivatives === undefined) {
      const steps = this.#stepsOf(node);
      this.meter.charge(rowBytes + targetBytes * steps.nodes.length);
      node.derivatives = steps;
    }
    return node.derivatives;
  }

  /** Those of an intersection, complement or short choice are found from those of its items, which many states share. */
  #stepsOf(node: Node): Steps {
    const { body } = node;
    if (body.kind === "not") {
      const { classes, nodes } = this.#derivatives(body.item);
      return { classes, nodes: nodes.map((next) => this.#table.not(next)) };
    }
    if (body.kind !== "and" && !(body.kind === "choice" && body.items.length <= maxShared)) return this.#derive(node);
    const items = body.items.map((item) => this.#derivatives(item));
    const classes = items.map((item) => item.classes).reduce((all, each) => this.byteClasses.refine(all, each));
    this.meter.work(classes.firsts.length * items.length);
    const combined = (nodes: readonly Node[]): Node => (body.kind === "and" ? this.#table.and(nodes) : this.#table.choice(nodes));
    return { classes, nodes: classes.firsts.map((byte) => combined(items.map((item) => stepBy(item, byte)))) };
  }

  #derive(node: Node): Steps {
    const missing = allBytes.slice();
    const alike = allBytes.slice();
    const classes = new Uint8Array(256);
    const found: Node[] = [];
    for (let byte = 0; byte < 256; byte++) {
      if (!has(missing, byte)) continue;
      alike.set(missing);
      const next = this.#derivative(node, byte, alike);
      narrow(missing, alike, false);
      let number = found.indexOf(next);
      if (number < 0) number = found.push(next) - 1;
      if (number > 0) for (let other = byte; other < 256; other++) if (has(alike, other)) classes[other] = number;
    }
    return { classes: this.byteClasses.intern(classes), nodes: found };
  }

  /** Decides by breadth-first search for a nullable state whether `start` is live. */
  #search(start: Node): boolean {
    const previous = new Map<Node, Node | undefined>([[start, undefined]]);
    for (const node of previous.keys()) {
      if (node.isNullable || node.isLive === true) {
        let { distance } = node;
        for (let each: Node | undefined = node; each !== undefined; each = previous.get(each), distance++) {
          each.isLive = true;
          each.distance = Math.min(each.distance, distance);
        }
        return true;
      }
      if (node.isLive === false) continue;
      this.meter.charge(100);
      for (const next of this.#derivatives(node).nodes) if (!previous.has(next)) previous.set(next, node);
    }
    for (const node of previous.keys()) node.isLive = false;
    return false;
  }

  /** The derivative by `byte`. Leaves in `alike` only bytes that have the same derivative. */
  #derivative(node: Node, byte: number, alike: ByteSet): Node {
    if (node.soleByte < 0) return this.#ownDerivative(node, byte, alike);
    narrow(alike, this.#soleSet(node.soleByte), node.soleByte === byte);
    return node.soleByte === byte ? this.#soleNext(node) : neverNode;
  }

  #ownDerivative(node: Node, byte: number, alike: ByteSet): Node {
    this.meter.work(1);
    const { body } = node;
    switch (body.kind) {
      case "never":
      case "empty":
        return neverNode;
      case "bytes": {
        const isIn = has(body.set, byte);
        narrow(alike, body.set, isIn);
        return isIn ? emptyNode : neverNode;
      }
      case "words":
        return this.#wordsAfter(body, byte, alike);
      case "pair":
        return this.#pairAfter(node, byte, alike);
      case "choice":
        return this.#table.choice(body.items.map((item) => this.#derivative(item, byte, alike)));
      case "and":
        return this.#andAfter(body.items, byte, alike);
      case "automaton":
        return this.#automatonAfter(body, byte, alike);
      case "not":
        return this.#table.not(this.#derivative(body.item, byte, alike));
      case "repeat": {
        const after = this.#derivative(body.item, byte, alike);
        if (after === neverNode) return neverNode;
        return this.#table.sequence(after, this.#table.repeat(body.item, Math.max(0, body.min - 1), body.max - 1));
      }
    }
  }

  #soleSet(byte: number): ByteSet {
    this.#soleSets[byte] ??= byteSet([[byte, byte]]);
    return this.#soleSets[byte];
  }

  #automatonAfter({ states, state }: AutomatonBody, byte: number, alike: ByteSet): Node {
    const { next } = elementAt(states, state);
    for (const [first, last, target] of next) {
      if (byte < first || byte > last) continue;
      narrow(alike, byteSet([[first, last]]), true);
      return this.#table.automaton(states, target);
    }
    const used = byteSet(next.map(([first, last]) => [first, last]));
    narrow(alike, used, false);
    return neverNode;
  }

  #pairAfter(node: Node, byte: number, alike: ByteSet): Node {
    const results: Node[] = [];
    while (node.body.kind === "pair") {
      const { head, tail } = node.body;
      results.push(this.#table.sequence(this.#derivative(head, byte, alike), tail));
      if (!head.isNullable) return this.#table.choice(results);
      node = tail;
    }
    results.push(this.#derivative(node, byte, alike));
    return this.#table.choice(results);
  }

  #andAfter(items: readonly Node[], byte: number, alike: ByteSet): Node {
    const results: Node[] = [];
    for (const item of items) {
      const after = this.#derivative(item, byte, alike);
      if (after === neverNode) return neverNode;
      results.push(after);
    }
    return this.#table.and(results);
  }

  #wordsAfter({ list, from, to, start }: WordsBody, byte: number, alike: ByteSet): Node {
    if (elementAt(list, from).length === start) from++;
    const first = lowerBound(list, from, to, start, byte);
    const end = lowerBound(list, first, to, start, byte + 1);
    if (first === end) {
      for (let i = from; i < to; ) {
        const other = elementAt(elementAt(list, i), start);
        narrow(alike, this.#soleSet(other), false);
        i = lowerBound(list, i, to, start, other + 1);
      }
      return neverNode;
    }
    narrow(alike, this.#soleSet(byte), true);
    return this.#table.words(list, first, end, start + 1);
  }
}

/** The item that infinitely many strings match, where a node is this item without finitely many strings: something is left then. */
export function infinitePart({ body }: Node): Node | undefined {
  if (body.kind !== "and") return undefined;
  const rest = soleOf(body.items.filter((item) => item.body.kind !== "not" || !item.body.item.isFiniteSet));
  return rest === undefined || rest.isComplex || rest.isFiniteSet ? undefined : rest;
}

type AutomatonBody = Extract<Node["body"], { kind: "automaton" }>;
type WordsBody = Extract<Node["body"], { kind: "words" }>;

/** First of the words `from` to `to` (exclusive) whose byte at `position` is at least `byte`, or `to`. */
function lowerBound(list: readonly Uint8Array[], from: number, to: number, position: number, byte: number): number {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (elementAt(elementAt(list, middle), position) < byte) from = middle + 1;
    else to = middle;
  }
  return from;
}
