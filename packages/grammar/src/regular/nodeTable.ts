import { exceeded, type Meter } from "../budget.ts";
import type { AutomatonState, Regular } from "../expression/types.ts";
import { elementAt } from "../lookup.ts";
import { Absorption } from "./absorb.ts";
import { type ByteSet, intersection, union } from "./byteSet.ts";
import { type Body, emptyNode, everyNode, firstId, Node, neverNode, parts, type Traits } from "./nodes.ts";

/** Deepest nesting of an expression: derivatives recurse as deep. */
const maxDepth = 400;
/** Estimated bytes of a node with its entry in a table, and of one item in it. */
const nodeBytes = 240;
const itemBytes = 16;

/** Makes expressions in normal form, each once: equal forms give the same object until {@link reset}. */
export class NodeTable {
  readonly meter: Meter;
  /** Pairs by their tails and heads. */
  readonly #pairs = new Map<Node, Map<Node, Node>>();
  readonly #others = new Map<string, Node>();
  readonly #absorption: Absorption;
  #nextId = firstId;
  #firstDropped = firstId;
  #nextList = 0;
  /** Nodes of the expressions read so far: many share parts. */
  readonly interned: Map<Regular, Node> = new Map();
  readonly #listIds = new WeakMap<object, number>();
  /** Lists of words by their texts. */
  readonly #lists = new Map<string, readonly Uint8Array[]>();

  constructor(meter: Meter) {
    this.meter = meter;
    this.#absorption = new Absorption(meter);
  }

  /** Makes the nodes that exist now permanent. */
  keep(): void {
    this.#firstDropped = this.#nextId;
  }

  /**
   * Forgets all nodes that are not permanent, and what is known of the derivatives of all. Nodes in use stay valid, and equal ones made later
   * are other objects.
   */
  reset(): void {
    this.#absorption.reset();
    for (const [key, node] of this.#others) if (forget(node) >= this.#firstDropped) this.#others.delete(key);
    for (const [tail, pairs] of this.#pairs) {
      for (const [head, node] of pairs) if (forget(node) >= this.#firstDropped) pairs.delete(head);
      if (pairs.size === 0) this.#pairs.delete(tail);
    }
    for (const [regular, node] of this.interned) if (node.id >= this.#firstDropped) this.interned.delete(regular);
  }

  bytes(set: ByteSet): Node {
    if (set.every((bits) => bits === 0)) return neverNode;
    return this.#other(`b${set.join()}`, 4, { kind: "bytes", set }, { isNullable: false, isComplex: false, isFiniteSet: true, depth: 0 });
  }

  /** The words `from` to `to` (exclusive) of a sorted list without duplicates, without the `start` bytes that they share. */
  words(list: readonly Uint8Array[], from: number, to: number, start: number): Node {
    if (from === to) return neverNode;
    const isNullable = elementAt(list, from).length === start;
    if (isNullable && to - from === 1) return emptyNode;
    const body: Body = { kind: "words", list, from, to, start };
    return this.#other(`w${this.#listId(list)}:${from}:${to}:${start}`, 0, body, {
      isNullable,
      isComplex: false,
      isFiniteSet: true,
      depth: 0,
    });
  }

  /** The list of words under `key`, which `make` makes the first time. */
  shared(key: string, make: () => readonly Uint8Array[]): readonly Uint8Array[] {
    let list = this.#lists.get(key);
    if (list === undefined) {
      list = make();
      this.meter.charge(2 * key.length);
      this.#lists.set(key, list);
    }
    return list;
  }

  /** What the automaton accepts from `state` on. */
  automaton(states: readonly AutomatonState[], state: number): Node {
    const traits = { isNullable: elementAt(states, state).isAccepting, isComplex: true, isFiniteSet: false, depth: 0 };
    return this.#other(`m${this.#listId(states)}:${state}`, 0, { kind: "automaton", states, state }, traits);
  }

  #listId(list: object): number {
    const id = this.#listIds.get(list) ?? this.#nextList++;
    this.#listIds.set(list, id);
    return id;
  }

  sequence(first: Node, second: Node): Node {
    if (first === neverNode || second === neverNode) return neverNode;
    if (second === emptyNode) return first;
    const heads: Node[] = [];
    while (first.body.kind === "pair") {
      heads.push(first.body.head);
      first = first.body.tail;
    }
    if (first !== emptyNode) heads.push(first);
    this.meter.work(heads.length);
    return heads.reduceRight((tail, head) => this.#pair(head, tail), second);
  }

  #pair(head: Node, tail: Node): Node {
    if (tail === emptyNode) return head;
    const [next, rest] = tail.body.kind === "pair" ? [tail.body.head, tail.body.tail] : [tail, emptyNode];
    if (head.body.kind === "repeat" && next.body.kind === "repeat" && head.body.item === next.body.item) {
      const merged = this.repeat(head.body.item, head.body.min + next.body.min, head.body.max + next.body.max);
      return this.sequence(merged, rest);
    }
    let pairs = this.#pairs.get(tail);
    if (pairs === undefined) {
      pairs = new Map();
      this.#pairs.set(tail, pairs);
    }
    const known = pairs.get(head);
    if (known !== undefined) return known;
    const node = this.#node(
      { kind: "pair", head, tail },
      {
        isNullable: head.isNullable && tail.isNullable,
        isComplex: head.isComplex || tail.isComplex,
        isFiniteSet: head.isFiniteSet && tail.isFiniteSet,
        depth: Math.max(head.depth + 1, tail.depth),
      },
      0,
    );
    pairs.set(head, node);
    return node;
  }

  choice(nodes: readonly Node[]): Node {
    const items = new Set<Node>();
    let set: ByteSet | undefined;
    for (const node of nodes) {
      for (const item of node.body.kind === "choice" ? node.body.items : [node]) {
        if (item === everyNode) return everyNode;
        if (item.body.kind === "bytes") {
          set = set === undefined ? item.body.set : union(set, item.body.set);
        } else if (item !== neverNode) items.add(item);
      }
    }
    if (set !== undefined) items.add(this.bytes(set));
    this.meter.work(items.size);
    this.#mergeRepeats(items);
    if (items.size > 1) this.#absorption.dropAbsorbed(items);
    if (items.has(emptyNode)) for (const item of items) if (item !== emptyNode && item.isNullable) items.delete(emptyNode);
    const sorted = byId(items);
    if (sorted.length <= 1) return sorted[0] ?? neverNode;
    return this.#list("choice", sorted, sorted.some(isNullable));
  }

  /** Replaces repetitions of one item before one tail, whose counts overlap or touch, by one repetition. */
  #mergeRepeats(items: Set<Node>): void {
    const groups = new Map<string, Node[]>();
    for (const node of items) {
      const { head, tail } = parts(node);
      if (head.body.kind !== "repeat") continue;
      const key = `${head.body.item.id}.${tail.id}`;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [node]);
      else group.push(node);
    }
    for (const group of groups.values()) {
      const counts = group.map((node) => ({ node, ...repetition(parts(node).head) })).sort((a, b) => a.min - b.min);
      let last = elementAt(counts, 0);
      for (const next of counts.slice(1)) {
        if (next.min > last.max + 1) {
          last = next;
          continue;
        }
        items.delete(last.node);
        items.delete(next.node);
        const max = Math.max(last.max, next.max);
        const node = this.sequence(this.repeat(next.item, last.min, max), parts(next.node).tail);
        last = { ...last, node, max };
        items.add(node);
      }
    }
  }

  and(nodes: readonly Node[]): Node {
    const items = new Set<Node>();
    let set: ByteSet | undefined;
    for (const node of nodes) {
      for (const item of node.body.kind === "and" ? node.body.items : [node]) {
        if (item === neverNode) return neverNode;
        if (item.body.kind === "bytes") {
          set = set === undefined ? item.body.set : intersection(set, item.body.set);
        } else if (item !== everyNode) items.add(item);
      }
    }
    if (set !== undefined) items.add(this.bytes(set));
    if (items.has(neverNode)) return neverNode;
    this.meter.work(items.size);
    if (items.size > 1) this.#absorption.dropImplied(items);
    for (const { body } of items) if (body.kind === "not" && items.has(body.item)) return neverNode;
    const sorted = byId(items);
    const all = sorted.every(isNullable);
    if (items.has(emptyNode)) return all ? emptyNode : neverNode;
    if (sorted.length <= 1) return sorted[0] ?? everyNode;
    return this.#list("and", sorted, all);
  }

  not(item: Node): Node {
    if (item === neverNode) return everyNode;
    if (item.body.kind === "not") return item.body.item;
    const traits = { isNullable: !item.isNullable, isComplex: true, isFiniteSet: false, depth: item.depth + 1 };
    return this.#other(`n${item.id}`, 0, { kind: "not", item }, traits);
  }

  repeat(item: Node, min: number, max: number): Node {
    if (item.isNullable && item !== emptyNode) {
      min = 0;
      if (item.body.kind === "choice") item = this.choice(item.body.items.filter((each) => each !== emptyNode));
    }
    if (max === 0 || item === emptyNode) return emptyNode;
    if (item === neverNode) return min === 0 ? emptyNode : neverNode;
    if (min === 1 && max === 1) return item;
    if (item.body.kind === "repeat") {
      const inner = item.body;
      // Without gaps between the counts that k and k + 1 turns allow, the counts multiply.
      if (min === max || times(inner.max, min) + 1 >= inner.min * (min + 1))
        return this.repeat(inner.item, inner.min * min, times(inner.max, max));
    }
    const body: Body = { kind: "repeat", item, min, max };
    return this.#other(`r${item.id}:${min}:${max}`, 0, body, {
      isNullable: min === 0 || item.isNullable,
      isComplex: item.isComplex,
      isFiniteSet: item.isFiniteSet && max !== Infinity,
      depth: item.depth + 1,
    });
  }

  #list(kind: "choice" | "and", items: readonly Node[], nullable: boolean): Node {
    const key = `${kind[0]}${items.map(({ id }) => id.toString(36)).join()}`;
    return this.#other(
      key,
      items.length,
      { kind, items },
      {
        isNullable: nullable,
        isComplex: kind === "and" || items.some(({ isComplex }) => isComplex),
        isFiniteSet: kind === "and" ? items.some(isFiniteSet) : items.every(isFiniteSet),
        depth: items.reduce((depth, item) => Math.max(depth, item.depth), 0) + 1,
      },
    );
  }

  #other(key: string, items: number, body: Body, traits: Traits): Node {
    const known = this.#others.get(key);
    if (known !== undefined) return known;
    const node = this.#node(body, traits, items);
    this.#others.set(key, node);
    return node;
  }

  #node(body: Body, traits: Traits, items: number): Node {
    this.meter.charge(nodeBytes + items * itemBytes);
    if (traits.depth > maxDepth) throw exceeded(`a terminal of at most ${maxDepth} levels`, "more");
    return new Node(this.#nextId++, body, traits);
  }
}

/** The product of two counts, of which any may be 0 or infinite. */
function times(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : a * b;
}

/** Drops what is known of a node's derivatives. Returns its id. */
function forget(node: Node): number {
  node.derivatives = undefined;
  node.soleNext = undefined;
  node.row = undefined;
  return node.id;
}

function byId(items: Set<Node>): Node[] {
  return [...items].sort((a, b) => a.id - b.id);
}

function isFiniteSet(node: Node): boolean {
  return node.isFiniteSet;
}

function isNullable(node: Node): boolean {
  return node.isNullable;
}

function repetition({ body }: Node): { item: Node; min: number; max: number } {
  if (body.kind !== "repeat") throw new TypeError("repetition: expected a repetition");
  return body;
}
