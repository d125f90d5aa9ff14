import type { Meter } from "../budget.ts";
import type { Automaton } from "../regular/automaton.ts";
import { type Node, neverNode } from "../regular/nodes.ts";
import type { Trie } from "../vocabulary/trie.ts";
import type { Vocabulary } from "../vocabulary/vocabulary.ts";
import { PlainText } from "./plainText.ts";

/** Nodes of a trie at which a terminal may end while tokens go on. */
export interface Exits {
  readonly trie: Trie;
  readonly nodes: readonly number[];
}

/** What a terminal in some state allows, whatever follows it. */
export interface LexicalMask {
  /** Tokens that leave the terminal alive: as a mask, or as ids if they are few. */
  readonly mask: Uint32Array | undefined;
  readonly ids: readonly number[];
  readonly exits: readonly Exits[];
}

/** What a terminal in some state allows of one trie. */
interface Part {
  readonly ids: readonly number[];
  readonly exits: Exits;
}

/** Fewest ids that are stored as a mask. */
const denseIds = 1000;

/** Tokens that stay inside a terminal, cached by the terminal's state. */
export class LexicalMasks {
  readonly #vocabulary: Vocabulary;
  readonly #automaton: Automaton;
  readonly #meter: Meter;
  readonly #plainText: PlainText;
  readonly #masks = new Map<Node, LexicalMask>();
  /** Parts of clamped states, by trie. */
  readonly #clamped = new Map<Trie, Map<Node, Part>>();
  readonly #path: Node[] = [];

  constructor(vocabulary: Vocabulary, automaton: Automaton, meter: Meter) {
    this.#vocabulary = vocabulary;
    this.#automaton = automaton;
    this.#meter = meter;
    this.#plainText = new PlainText(automaton);
  }

  /** Forgets all masks. */
  reset(): void {
    this.#masks.clear();
    this.#clamped.clear();
    this.#plainText.reset();
  }

  /** What the terminal state `node` allows. @throws {GrammarError} `GRAMMAR_BUDGET` */
  of(node: Node): LexicalMask {
    let mask = this.#masks.get(node);
    if (mask === undefined) {
      mask = this.#compute(node);
      this.#meter.charge(300 + (mask.mask?.byteLength ?? 0) + mask.ids.length * 8);
      this.#masks.set(node, mask);
    }
    return mask;
  }

  #compute(node: Node): LexicalMask {
    const { plain, others, maskWords } = this.#vocabulary;
    // Only a state that accepts some characters is worth a closer look.
    const length = this.#automaton.next(node, 0x20) === neverNode ? undefined : this.#plainText.lengthFrom(node);
    const parts = others.map((trie) => this.#part(node, trie));
    if (length === undefined) parts.push(this.#part(node, plain));
    const exits = parts.flatMap((part) => (part.exits.nodes.length > 0 ? [part.exits] : []));
    const count = parts.reduce((sum, { ids }) => sum + ids.length, 0);
    if (length === undefined && count < denseIds) return { mask: undefined, ids: parts.flatMap(({ ids }) => ids), exits };
    const mask = length === undefined ? new Uint32Array(maskWords) : this.#vocabulary.plainMask(length).slice();
    for (const { ids } of parts) for (const id of ids) mask[id >> 5]! |= 1 << (id & 31);
    return { mask, ids: [], exits };
  }

  /** What `node` allows of one trie. No token of the trie can tell `node` from its clamped form, which many states share. */
  #part(node: Node, trie: Trie): Part {
    const clamped = this.#automaton.clamp(node, trie.maxDepth);
    if (clamped === node) return this.#walk(node, trie);
    let parts = this.#clamped.get(trie);
    if (parts === undefined) {
      parts = new Map();
      this.#clamped.set(trie, parts);
    }
    let part = parts.get(clamped);
    if (part === undefined) {
      part = this.#walk(clamped, trie);
      parts.set(clamped, part);
    }
    return part;
  }

  #walk(start: Node, trie: Trie): Part {
    const ids: number[] = [];
    const exits: number[] = [];
    for (const byte of this.#automaton.firstBytes(start)) {
      if (trie.roots[byte]! >= 0) this.#walkFrom(start, trie, trie.roots[byte]!, ids, exits);
    }
    this.#addTwins(ids);
    this.#meter.charge(100 + 8 * (ids.length + exits.length));
    return { ids, exits: { trie, nodes: exits } };
  }

  /** Adds the tokens below a node of the first level that leave the terminal alive, and the nodes where it may end. */
  #walkFrom(start: Node, { bytes, depths, ends, ids }: Trie, root: number, found: number[], exits: number[]): void {
    const path = this.#path;
    path[0] = start;
    for (let i = root; i < ends[root]!; ) {
      const depth = depths[i]!;
      const from = path[depth]!;
      const next = from.row?.[bytes[i]!] ?? this.#automaton.next(from, bytes[i]!);
      if (next === neverNode) {
        i = ends[i]!;
        continue;
      }
      path[depth + 1] = next;
      if (ids[i]! >= 0) found.push(ids[i]!);
      if (next.isNullable && ends[i]! > i + 1) exits.push(i);
      i++;
    }
  }

  /** Adds all tokens with the same bytes. */
  #addTwins(ids: number[]): void {
    const { twins } = this.#vocabulary;
    const count = ids.length;
    for (let i = 0; i < count; i++) for (let twin = twins[ids[i]!]!; twin >= 0; twin = twins[twin]!) ids.push(twin);
  }
}
