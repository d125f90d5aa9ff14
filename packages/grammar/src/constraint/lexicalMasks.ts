import type { Meter } from "../budget.ts";
import { codePoints, repeat } from "../expression/builders.ts";
import type { Automaton } from "../regular/automaton.ts";
import { type Node, neverNode } from "../regular/nodes.ts";
import { plainRanges, type Tier, type Vocabulary } from "../vocabulary/vocabulary.ts";

/** A node of a tier's trie at which a terminal may end while tokens go on. */
export interface Exit {
  readonly tier: Tier;
  readonly node: number;
}

/** What a terminal in some state allows, whatever follows it. */
export interface LexicalMask {
  /** Tokens that leave the terminal alive: as a mask, or as ids if they are few. */
  readonly mask: Uint32Array | undefined;
  readonly ids: readonly number[];
  readonly exits: readonly Exit[];
}

/** Fewest ids that are stored as a mask. */
const denseIds = 1000;
/** Most pairs of states that are compared to find out whether all plain text is allowed. */
const maxPairs = 64;

/** Tokens that stay inside a terminal, cached by the terminal's state. */
export class LexicalMasks {
  readonly #vocabulary: Vocabulary;
  readonly #automaton: Automaton;
  readonly #meter: Meter;
  readonly #masks = new Map<Node, LexicalMask>();
  readonly #parts = new Map<Node, Map<Tier, LexicalMask>>();
  readonly #acceptsText = new Map<Node, boolean>();

  constructor(vocabulary: Vocabulary, automaton: Automaton, meter: Meter) {
    this.#vocabulary = vocabulary;
    this.#automaton = automaton;
    this.#meter = meter;
  }

  reset(): void {
    this.#masks.clear();
    this.#parts.clear();
    this.#acceptsText.clear();
  }

  /** What the terminal state `node` allows. @throws {GrammarError} `GRAMMAR_BUDGET` */
  of(node: Node): LexicalMask {
    let mask = this.#masks.get(node);
    if (mask === undefined) {
      mask = joined(
        this.#vocabulary.tiers.map((tier) => this.#part(node, tier)),
        this.#vocabulary.maskWords,
      );
      this.#meter.charge(200 + sizeOf(mask));
      this.#masks.set(node, mask);
    }
    return mask;
  }

  /** What `node` allows of one tier. No token of the tier can tell `node` from its clamped form. */
  #part(node: Node, tier: Tier): LexicalMask {
    const clamped = this.#automaton.clamp(node, tier.trie.maxDepth);
    let parts = this.#parts.get(clamped);
    if (parts === undefined) {
      parts = new Map();
      this.#parts.set(clamped, parts);
    }
    let part = parts.get(tier);
    if (part === undefined) {
      part = tier.isText && this.#isTextAccepted(clamped) ? { mask: tier.mask, ids: [], exits: [] } : this.#walk(clamped, tier);
      parts.set(tier, part);
      this.#meter.charge(100 + part.ids.length * 8 + part.exits.length * 40);
    }
    return part;
  }

  #walk(start: Node, tier: Tier): LexicalMask {
    const { bytes, depths, ends, ids } = tier.trie;
    const automaton = this.#automaton;
    const found: number[] = [];
    const exits: Exit[] = [];
    const path: Node[] = [start];
    for (let i = 0; i < bytes.length; ) {
      const depth = depths[i]!;
      const from = path[depth]!;
      const known = from.row?.[bytes[i]!];
      const next = known?.isLive === true ? known : automaton.next(from, bytes[i]!);
      if (next === neverNode) {
        i = ends[i]!;
        continue;
      }
      path[depth + 1] = next;
      if (ids[i]! >= 0) found.push(ids[i]!);
      if (next.isNullable && ends[i]! > i + 1) exits.push({ tier, node: i });
      i++;
    }
    this.#meter.work(found.length >> 3);
    return { mask: undefined, ids: this.#withTwins(found), exits };
  }

  /** The ids and all tokens with the same bytes. */
  #withTwins(ids: number[]): number[] {
    const { twins } = this.#vocabulary;
    const count = ids.length;
    for (let i = 0; i < count; i++) for (let twin = twins[ids[i]!]!; twin >= 0; twin = twins[twin]!) ids.push(twin);
    return ids;
  }

  /** Whether `node` is alive after any plain text. False also where finding out would take too long. */
  #isTextAccepted(node: Node): boolean {
    let accepts = this.#acceptsText.get(node);
    if (accepts === undefined) {
      accepts = this.#searchText(node);
      this.#acceptsText.set(node, accepts);
    }
    return accepts;
  }

  #searchText(node: Node): boolean {
    const text = this.#automaton.stateOf(plainText);
    const pairs = [[node, text] as const];
    const seen = new Set([`${node.id}.${text.id}`]);
    for (const [inTerminal, inText] of pairs) {
      for (let byte = 0; byte < 256; byte++) {
        const textAfter = this.#automaton.next(inText, byte);
        if (textAfter === neverNode) continue;
        const after = this.#automaton.next(inTerminal, byte);
        if (after === neverNode) return false;
        const key = `${after.id}.${textAfter.id}`;
        if (seen.has(key)) continue;
        if (seen.size === maxPairs) return false;
        seen.add(key);
        pairs.push([after, textAfter]);
      }
    }
    return true;
  }
}

const plainText = repeat(codePoints(plainRanges), 0, Infinity);

function joined(parts: readonly LexicalMask[], words: number): LexicalMask {
  const exits = parts.flatMap((part) => part.exits);
  const ids = parts.flatMap((part) => part.ids);
  const masks = parts.flatMap(({ mask }) => mask ?? []);
  if (masks.length === 0 && ids.length < denseIds) return { mask: undefined, ids, exits };
  const mask = masks[0]?.slice() ?? new Uint32Array(words);
  for (const other of masks.slice(1)) for (let i = 0; i < words; i++) mask[i]! |= other[i]!;
  for (const id of ids) mask[id >> 5]! |= 1 << (id & 31);
  return { mask, ids: [], exits };
}

function sizeOf({ mask, ids, exits }: LexicalMask): number {
  return (mask?.byteLength ?? 0) + ids.length * 8 + exits.length * 8;
}
