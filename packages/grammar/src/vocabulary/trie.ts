/** Strings of bytes one after the other: string `i` is `bytes[offsets[i] … offsets[i + 1]]`. */
export interface Strings {
  readonly bytes: Uint8Array;
  readonly offsets: Uint32Array;
}

/** Where string `id` begins and ends in the bytes. */
export function boundsOf({ offsets }: Strings, id: number): readonly [start: number, end: number] {
  return [offsets[id]!, offsets[id + 1]!];
}

/** A tree of strings by their bytes, its nodes in depth-first order. The root is not stored. */
export interface Trie {
  /** Byte that leads to each node. */
  readonly bytes: Uint8Array;
  /** Length of each node's string, minus 1. */
  readonly depths: Uint16Array;
  /** Index after each node's subtree. */
  readonly ends: Uint32Array;
  /** Token whose bytes are the node's string, or -1. */
  readonly ids: Int32Array;
  /** Kinds of bytes in each node's subtree, its own byte apart: bits of {@link byteKinds}. */
  readonly kinds: Uint32Array;
  /** Node of the string of each single byte, or -1. */
  readonly roots: Int32Array;
  /** Length of the longest string. */
  readonly maxDepth: number;
}

/**
 * The kind of a byte, 0 to 31. Bytes of one kind are often treated alike: lower-case letters, upper-case letters, digits, bytes above ASCII.
 * The most common punctuation has kinds of its own.
 */
function byteKind(byte: number): number {
  if (byte >= 0x80) return 0;
  if (byte >= 0x61 && byte <= 0x7a) return byte <= 0x66 ? 1 : 2;
  if (byte >= 0x41 && byte <= 0x5a) return byte <= 0x46 ? 3 : 4;
  if (byte >= 0x30 && byte <= 0x39) return 5;
  const common = " !#$%&'()*+,-./:;<=>?@_~[]".indexOf(String.fromCharCode(byte));
  return common < 0 ? 31 : 6 + Math.min(common, 24);
}

/** The kind of every byte. */
export const byteKinds: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) => byteKind(byte));

/** Ids sorted by their strings, equal strings by id. */
export function sortedByBytes(strings: Strings): Uint32Array {
  const { bytes } = strings;
  const count = strings.offsets.length - 1;
  // The first six bytes as a number settle almost every comparison.
  const prefixes = new Float64Array(count);
  for (let id = 0; id < count; id++) {
    let prefix = 0;
    const [start, end] = boundsOf(strings, id);
    for (let i = start; i < start + 6; i++) prefix = prefix * 256 + (i < end ? bytes[i]! : 0);
    prefixes[id] = prefix;
  }
  const compare = (a: number, b: number): number => {
    let [i, endA] = boundsOf(strings, a);
    let [j, endB] = boundsOf(strings, b);
    for (; i < endA && j < endB; i++, j++) if (bytes[i] !== bytes[j]) return bytes[i]! - bytes[j]!;
    return endA - i - (endB - j) || a - b;
  };
  return Uint32Array.from(prefixes.keys()).sort((a, b) => prefixes[a]! - prefixes[b]! || compare(a, b));
}

/** The trie of `ids`, which are sorted by their strings. Equal and empty strings are left out: `ids` has one id for each. */
export function buildTrie(strings: Strings, ids: readonly number[]): Trie {
  const { bytes } = strings;
  let capacity = 0;
  for (const id of ids) {
    const [start, end] = boundsOf(strings, id);
    capacity += end - start;
  }
  const nodes = { bytes: new Uint8Array(capacity), depths: new Uint16Array(capacity), ends: new Uint32Array(capacity) };
  const roots = new Int32Array(256).fill(-1);
  const nodeIds = new Int32Array(capacity).fill(-1);
  const path: number[] = [];
  let size = 0;
  let maxDepth = 0;
  let [previous, previousEnd] = [0, 0];
  for (const id of ids) {
    const [start, end] = boundsOf(strings, id);
    let shared = 0;
    while (previous + shared < previousEnd && start + shared < end && bytes[previous + shared] === bytes[start + shared]) shared++;
    for (const node of path.splice(shared)) nodes.ends[node] = size;
    for (let i = start + shared; i < end; i++) {
      const byte = bytes[i]!;
      nodes.bytes[size] = byte;
      nodes.depths[size] = i - start;
      if (i === start) roots[byte] = size;
      path.push(size++);
    }
    nodeIds[size - 1] = id;
    maxDepth = Math.max(maxDepth, end - start);
    [previous, previousEnd] = [start, end];
  }
  for (const node of path) nodes.ends[node] = size;
  const trie = {
    bytes: nodes.bytes.slice(0, size),
    depths: nodes.depths.slice(0, size),
    ends: nodes.ends.slice(0, size),
    ids: nodeIds.slice(0, size),
  };
  return { ...trie, kinds: kindsBelow(trie), roots, maxDepth };
}

/** Kinds of bytes in each node's subtree, its own byte apart. */
function kindsBelow({ bytes, depths }: Pick<Trie, "bytes" | "depths">): Uint32Array {
  const kinds = new Uint32Array(bytes.length);
  const path: number[] = [];
  for (let node = 0; node < bytes.length; node++) {
    const depth = depths[node]!;
    path[depth] = node;
    const bit = 1 << byteKinds[bytes[node]!]!;
    for (let each = depth - 1; each >= 0; each--) {
      const ancestor = path[each]!;
      const known = kinds[ancestor]!;
      if ((known & bit) !== 0) break;
      kinds[ancestor] = known | bit;
    }
  }
  return kinds;
}
