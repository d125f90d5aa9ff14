import { ProgramError } from "@centella/core";
import type { CacheUsage } from "./cacheUsage.ts";

/** Tokens of a block of the cache. */
export const blockTokens = 32;

/** Number of blocks that hold this many tokens. */
export function blocksOf(tokens: number): number {
  return Math.ceil(tokens / blockTokens);
}

/** A node of the radix tree. */
interface Node {
  readonly children: Set<Block>;
}

/** What decides which blocks and states of others a sequence may read. */
export interface Access {
  /** Scope of the private blocks and states that it may read. Of a block or state: undefined if it is not private. */
  readonly scope?: object | undefined;
  /** Key of the adapters that it is computed with, on which keys and values depend; see `AppliedAdapters`. Default: none. */
  readonly adapters?: string | undefined;
}

/** The leading tokens of a block that a text has in common with it, at least one. */
export interface Part {
  readonly block: Block;
  readonly count: number;
}

/** The blocks that a sequence has claimed. */
export interface Claim {
  readonly blocks: Block[];
  /** A block that holds the next tokens of the text, and that the sequence must not write to. */
  readonly part: Part | undefined;
}

/** Where the cached prefix of a text ends. */
interface Match {
  /** The last full block, or the root. */
  readonly end: Node;
  /** The block after it, if the text may go on in it. */
  readonly own?: Part | undefined;
  /** The block after it, if the text may only read it. */
  readonly part?: Part | undefined;
}

/** A block of the cache: the tokens whose keys and values it holds, which follow those of its parent. */
export interface Block extends Node, Access {
  /** Changes only while the block is not full: what its owner appends may be private. */
  scope: object | undefined;
  /** Its place in the cache. */
  readonly index: number;
  readonly parent: Node;
  /** At most {@link blockTokens}. */
  readonly ids: number[];
  /** The only writer while the block is not full. Full blocks are shared and never change. */
  readonly owner: object;
  /** Sequences that are being computed on it. */
  users: number;
  lastUsed: number;
}

/**
 * Radix tree over the blocks of a key-value cache. Texts that begin with the same tokens share blocks, regardless of which session
 * computed them. Unused blocks stay until their memory is needed; the least recently used leaves are evicted first.
 *
 * Keys and values depend on all tokens before them, so the children of a scoped block have the same scope. Only sequences with the same
 * adapters share blocks.
 */
export class PrefixCache {
  readonly #root: Node = { children: new Set() };
  readonly #free: Set<number>;
  readonly #blocks = new Set<Block>();
  readonly #count: number;
  #clock = 0;

  constructor(count: number) {
    this.#count = count;
    this.#free = new Set(Array.from({ length: count }, (_, index) => index));
  }

  get usage(): CacheUsage {
    let usedBlocks = 0;
    for (const { users } of this.#blocks) if (users > 0) usedBlocks++;
    return { blockTokens, blocks: this.#count, usedBlocks };
  }

  /**
   * Claims the blocks that hold the longest cached prefix of `ids`, among the blocks that sequences of this access may read. A block that
   * matches only in part is claimed by its owner alone, and only while it is idle: it is cut to the matching part and its children are dropped.
   * With `canCopy`, a block that matches more tokens is returned as `part`: they can be copied to a block that {@link grow} adds.
   */
  claim(ids: readonly number[], owner: object, access: Access = {}, canCopy = false): Claim {
    const { end, own, part } = this.#match(ids, owner, access, canCopy);
    if (own !== undefined) {
      for (const child of own.block.children) this.#drop(child);
      own.block.ids.length = own.count;
    }
    const blocks = this.#pathTo(own?.block ?? end);
    for (const block of blocks) block.users++;
    return { blocks, part: part !== undefined && this.#canGrow(part.block) ? part : undefined };
  }

  /** Whether {@link claim} can return a part. */
  hasPart(ids: readonly number[], owner: object, access: Access = {}): boolean {
    return this.#match(ids, owner, access, true).part !== undefined;
  }

  /** Finds the last of the full blocks that hold a prefix of `ids`, and the block that holds the most of the next tokens. */
  #match(ids: readonly number[], owner: object, access: Access, canCopy: boolean): Match {
    // Blocks with the same tokens, computed side by side, may have different children: all of them are followed.
    let level: readonly Node[] = [this.#root];
    for (let start = 0; ; start += blockTokens) {
      const parts = level
        .flatMap(({ children }) => [...children])
        .filter((block) => isOpenTo(block, access))
        .map((block): Part => ({ block, count: commonPrefixAt(block.ids, ids, start) }));
      const full = parts.filter(({ count }) => count === blockTokens);
      if (full.length === 0) {
        const own = longestOf(parts.filter(({ block }) => block.owner === owner && block.users === 0));
        const part = canCopy ? longestOf(parts) : undefined;
        const isCopied = part !== undefined && part.count > (own?.count ?? 0);
        return { end: level[0]!, ...(isCopied ? { part } : { own }) };
      }
      level = full.map(({ block }) => block);
    }
  }

  /** Adds an empty block after `parent`. Some block other than `kept` must be free or idle. */
  grow(parent: Block | undefined, { owner, scope, adapters }: Pick<Block, "owner" | keyof Access>, kept?: Block): Block {
    const node = parent ?? this.#root;
    const index = this.#takeIndex((parent?.index ?? -1) + 1, kept);
    const block: Block = {
      index,
      parent: node,
      children: new Set(),
      ids: [],
      owner,
      scope: parent?.scope ?? scope,
      adapters,
      users: 1,
      lastUsed: 0,
    };
    node.children.add(block);
    this.#blocks.add(block);
    return block;
  }

  /** Ends a use of the blocks of a path. Their tokens stay cached. */
  release(path: readonly Block[]): void {
    const now = ++this.#clock;
    for (const block of path.toReversed()) {
      block.users--;
      block.lastUsed = now;
      if (block.users === 0 && block.ids.length === 0) this.#drop(block);
    }
  }

  /** Forgets an owner's blocks that are unused and have no children. */
  forget(owner: object): void {
    for (const block of [...this.#blocks].toReversed()) {
      if (block.owner === owner && block.users === 0 && block.children.size === 0) this.#drop(block);
    }
  }

  /** Forgets all blocks. They must be unused. */
  clear(): void {
    for (const block of this.#root.children) this.#drop(block);
  }

  /** The blocks from the first one to a node. */
  #pathTo(node: Node): Block[] {
    const path: Block[] = [];
    for (let at = node; at !== this.#root; at = (at as Block).parent) path.push(at as Block);
    return path.reverse();
  }

  /** Takes a free place in the cache: `preferred`, which follows the parent's, if it is free. */
  #takeIndex(preferred: number, kept: Block | undefined): number {
    if (this.#free.size === 0) this.#evict(kept);
    const [first = preferred] = this.#free;
    const index = this.#free.has(preferred) ? preferred : first;
    this.#free.delete(index);
    return index;
  }

  #evict(kept: Block | undefined): void {
    const oldest = this.#oldestIdle(kept);
    if (oldest === undefined) throw new ProgramError("cache: expected an idle block to evict, got none; this is a bug, please report it");
    this.#drop(oldest);
  }

  /** Whether a block can be added without evicting `kept`. */
  #canGrow(kept: Block): boolean {
    return this.#free.size > 0 || this.#oldestIdle(kept) !== undefined;
  }

  #oldestIdle(kept: Block | undefined): Block | undefined {
    let oldest: Block | undefined;
    for (const block of this.#blocks) {
      if (block.users > 0 || block.children.size > 0 || block === kept) continue;
      if (oldest === undefined || block.lastUsed < oldest.lastUsed) oldest = block;
    }
    return oldest;
  }

  /** Frees a block and its descendants. They are unused: a user of a block also uses its ancestors. */
  #drop(block: Block): void {
    for (const child of block.children) this.#drop(child);
    block.parent.children.delete(block);
    this.#blocks.delete(block);
    this.#free.add(block.index);
  }
}

/** Whether a sequence may read what another one has computed. */
export function isOpenTo(computed: Access, { scope, adapters }: Access): boolean {
  return computed.adapters === adapters && (computed.scope === undefined || computed.scope === scope);
}

/** The part with the most tokens, if it has any. */
function longestOf(parts: readonly Part[]): Part | undefined {
  let longest: Part | undefined;
  for (const part of parts) if (part.count > (longest?.count ?? 0)) longest = part;
  return longest;
}

/** Number of leading ids of `a` that equal the ids of `b` from index `from` on. */
function commonPrefixAt(a: readonly number[], b: readonly number[], from: number): number {
  const end = Math.min(a.length, b.length - from);
  let length = 0;
  while (length < end && a[length] === b[from + length]) length++;
  return length;
}
