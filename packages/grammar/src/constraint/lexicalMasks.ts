import type { Meter } from "../budget.ts";
import type { Automaton } from "../regular/automaton.ts";
import { addBit } from "../regular/byteSet.ts";
import { type Node, neverNode, stepBy } from "../regular/nodes.ts";
import { byteKinds, type Trie } from "../vocabulary/trie.ts";
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
  readonly ids: Int32Array;
  readonly exits: readonly Exits[];
}

/** What a terminal in some state allows of one trie. */
interface Part {
  /** Whether the state allows exactly this. Otherwise nothing is known. */
  readonly isCertain: boolean;
  readonly ids: Int32Array;
  readonly exits: Exits;
}

/** Bytes within which a clamped intersection has to reach a match for its mask to count. */
const slack = 48;
/** Nodes of a trie that are visited in the time of one step of the budget. */
export const visitsPerStep = 8;
/** Fewest ids that are stored as a mask. */
const denseIds = 1000;

const none = new Int32Array(0);

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
  /** Tokens of the walk under way: the first {@link #found}. */
  readonly #ids: Int32Array;
  #found = 0;

  constructor(vocabulary: Vocabulary, automaton: Automaton, meter: Meter) {
    this.#vocabulary = vocabulary;
    this.#automaton = automaton;
    this.#meter = meter;
    this.#plainText = new PlainText(automaton);
    this.#ids = vocabulary.scratch;
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
      this.#meter.charge(300 + (mask.mask?.byteLength ?? 0) + mask.ids.byteLength);
      this.#masks.set(node, mask);
    }
    return mask;
  }

  #compute(node: Node): LexicalMask {
    const { plain, others, maskWords } = this.#vocabulary;
    // Only a state that accepts some characters is worth a closer look.
    const length = this.#automaton.next(node, 0x20) === neverNode ? undefined : this.#plainText.lengthFrom(node);
    const parts = [...others, ...(length === undefined ? plain : [])].map((trie) => this.#part(node, trie));
    const exits = parts.flatMap((part) => (part.exits.nodes.length > 0 ? [part.exits] : []));
    const count = parts.reduce((sum, { ids }) => sum + ids.length, 0);
    if (length === undefined && count < denseIds) return { mask: undefined, ids: joined(parts, count), exits };
    const mask = length === undefined ? new Uint32Array(maskWords) : this.#vocabulary.plainMask(length).slice();
    for (const { ids } of parts) for (const id of ids) addBit(mask, id);
    return { mask, ids: none, exits };
  }

  /** What `node` allows of one trie: what its clamped form allows, which many states share, if that is certain. */
  #part(node: Node, trie: Trie): Part {
    const clamped = this.#automaton.clamp(node, trie.maxDepth, slack);
    if (clamped === node) return this.#walk(node, trie, Infinity);
    let parts = this.#clamped.get(trie);
    if (parts === undefined) {
      parts = new Map();
      this.#clamped.set(trie, parts);
    }
    let part = parts.get(clamped);
    if (part === undefined) {
      part = this.#walk(clamped, trie, clamped.isComplex ? slack : Infinity);
      parts.set(clamped, part);
    }
    return part.isCertain ? part : this.#walk(node, trie, Infinity);
  }

  /** What `start` allows of one trie; not certain if a state on the way is further than `maxDistance` bytes from a match. */
  #walk(start: Node, trie: Trie, maxDistance: number): Part {
    const exits: number[] = [];
    this.#found = 0;
    for (const byte of this.#automaton.firstBytes(start)) {
      const root = trie.roots[byte]!;
      if (root >= 0 && !this.#walkFrom(start, trie, root, exits, maxDistance))
        return { isCertain: false, ids: none, exits: { trie, nodes: [] } };
    }
    this.#addTwins();
    this.#meter.charge(100 + 4 * this.#found + 8 * exits.length);
    return { isCertain: true, ids: this.#ids.slice(0, this.#found), exits: { trie, nodes: exits } };
  }

  /** Adds the tokens below a node of the first level that leave the terminal alive, and the nodes where it may end. False as {@link #walk}. */
  #walkFrom(start: Node, { bytes, depths, ends, ids, kinds }: Trie, root: number, exits: number[], maxDistance: number): boolean {
    const [path, automaton, found] = [this.#path, this.#automaton, this.#ids];
    path[0] = start;
    let visited = 0;
    for (let i = root; i < ends[root]!; ) {
      visited++;
      const depth = depths[i]!;
      const from = path[depth]!;
      const byte = bytes[i]!;
      const next = from.row === undefined ? automaton.next(from, byte) : stepBy(from.row, byte);
      if (next === neverNode) {
        i = ends[i]!;
        continue;
      }
      if (next.distance > maxDistance) return false;
      path[depth + 1] = next;
      const id = ids[i]!;
      if (id >= 0) found[this.#found++] = id;
      const end = ends[i++]!;
      if (end === i) continue;
      // Where every byte below leads back to this state, all tokens below stay inside the terminal.
      if ((kinds[i - 1]! & ~this.#loops(next)) === 0) {
        for (; i < end; i++) {
          const below = ids[i]!;
          if (below >= 0) found[this.#found++] = below;
        }
      } else if (next.isNullable) exits.push(i - 1);
    }
    this.#meter.work(visited / visitsPerStep);
    return true;
  }

  /** Kinds of bytes that all lead from `node` back to it. */
  #loops(node: Node): number {
    if (node.loops >= 0) return node.loops;
    let others = 0;
    if (node.soleByte >= 0) others = -1;
    else {
      const row = this.#automaton.row(node);
      for (let byte = 0; byte < 256; byte++) if (stepBy(row, byte) !== node) others |= 1 << byteKinds[byte]!;
    }
    // The last kind never counts, so that -1 can stand for what is not known.
    node.loops = ~others & 0x7fffffff;
    return node.loops;
  }

  /** Adds all tokens with the same bytes. */
  #addTwins(): void {
    const { twins } = this.#vocabulary;
    const count = this.#found;
    for (let i = 0; i < count; i++) {
      for (let twin = twins[this.#ids[i]!]!; twin >= 0; twin = twins[twin]!) this.#ids[this.#found++] = twin;
    }
  }
}

function joined(parts: readonly Part[], count: number): Int32Array {
  const all = new Int32Array(count);
  let offset = 0;
  for (const { ids } of parts) {
    all.set(ids, offset);
    offset += ids.length;
  }
  return all;
}
