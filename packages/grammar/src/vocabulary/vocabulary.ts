import { argumentError, iterableOf, objectOf, shown } from "../checks.ts";
import { elementAt } from "../lookup.ts";
import { addBit } from "../regular/byteSet.ts";
import { boundsOf, buildTrie, type Strings, sortedByBytes, type Trie } from "./trie.ts";

/** Which tokens of a vocabulary do not stand for text. */
export interface VocabularyOptions {
  /** Tokens that end the text. They are allowed exactly where the text may end, and never as text. */
  readonly endIds?: Iterable<number>;
  /** Control tokens: never allowed, whatever their text. */
  readonly specialIds?: Iterable<number>;
}

/** The tokens of a model by their bytes: immutable, shared by all grammars. Made by {@link vocabulary}. */
export class Vocabulary {
  /** Number of tokens. */
  readonly size: number;
  /** Tokens that end the text. */
  readonly endIds: readonly number[];
  /** Tokens of {@link plainRanges plain text}, short ones apart from long ones. @internal */
  readonly plain: readonly Trie[];
  /** Tokens of other bytes, short ones apart from long ones. @internal */
  readonly others: readonly Trie[];
  /** Another token with the same bytes, or -1: a chain of all tokens with these bytes. @internal */
  readonly twins: Int32Array;
  /** Room for the ids of all tokens, for one walk of the tries at a time. @internal */
  readonly scratch: Int32Array;
  readonly #strings: Strings;
  readonly #isText: Uint8Array;
  /** Code points of tokens of plain text; 0 for others. */
  readonly #plainLengths: Uint16Array;
  readonly #plainMasks = new Map<number, Uint32Array>();

  /** @internal */
  constructor(strings: Strings, endIds: readonly number[], isText: Uint8Array) {
    this.size = strings.offsets.length - 1;
    this.endIds = endIds;
    this.#strings = strings;
    this.#isText = isText;
    this.#plainLengths = new Uint16Array(this.size);
    this.scratch = new Int32Array(this.size);
    this.twins = new Int32Array(this.size).fill(-1);
    const plain: number[][] = plainTokenBytes.map(() => []);
    const others: number[][] = otherTokenBytes.map(() => []);
    for (const id of this.#distinct()) {
      const bytes = strings.bytes.subarray(...boundsOf(strings, id));
      const length = plainLength(bytes);
      const fits = (most: number) => bytes.length <= most;
      if (length > 0) elementAt(plain, plainTokenBytes.findIndex(fits)).push(id);
      else elementAt(others, otherTokenBytes.findIndex(fits)).push(id);
      for (let twin = id; twin >= 0; twin = this.twins[twin]!) this.#plainLengths[twin] = length;
    }
    this.plain = plain.map((ids) => buildTrie(strings, ids));
    this.others = others.map((ids) => buildTrie(strings, ids));
  }

  /** Words of 32 tokens in a mask. */
  get maskWords(): number {
    return (this.size + 31) >>> 5;
  }

  /** Bytes of a token that stands for text; undefined for all others. @internal */
  bytesOf(id: number): Uint8Array | undefined {
    return this.#isText[id] === 1 ? this.#strings.bytes.subarray(...boundsOf(this.#strings, id)) : undefined;
  }

  /** Mask of all tokens of plain text with at most `length` code points. Shared: do not write into it. @internal */
  plainMask(length: number): Uint32Array {
    const most = Math.min(length, Math.max(...this.plain.map(({ maxDepth }) => maxDepth)));
    let mask = this.#plainMasks.get(most);
    if (mask === undefined) {
      mask = new Uint32Array(this.maskWords);
      for (const [id, own] of this.#plainLengths.entries()) if (own > 0 && own <= most) addBit(mask, id);
      this.#plainMasks.set(most, mask);
    }
    return mask;
  }

  /** Ids of text tokens sorted by their bytes, one for each string; enters the others as twins. */
  *#distinct(): Generator<number> {
    let previous = -1;
    for (const id of sortedByBytes(this.#strings)) {
      if (this.#isText[id] === 0) continue;
      if (previous >= 0 && areEqual(this.#strings, previous, id)) {
        this.twins[id] = this.twins[previous]!;
        this.twins[previous] = id;
        continue;
      }
      if (previous >= 0) yield previous;
      previous = id;
    }
    if (previous >= 0) yield previous;
  }
}

/** Most bytes of the tokens of each trie. */
const plainTokenBytes = [24, Infinity];
const otherTokenBytes = [12, 32, Infinity];
/** Longest token, in bytes. */
const maxTokenBytes = 0xffff;

/**
 * Prepares a vocabulary: once per model, about 0.1 s for 128,000 tokens. `tokenBytes` has the bytes of every token in the order of the ids.
 * Tokens without bytes are never allowed.
 * @throws {GrammarError} `GRAMMAR_ARGUMENT` if an id is outside the vocabulary, or a token has more than 65,535 bytes
 */
export function vocabulary(tokenBytes: Iterable<Uint8Array>, options: VocabularyOptions = {}): Vocabulary {
  const { endIds = [], specialIds = [] } = objectOf("vocabulary", "options { endIds, specialIds }", options);
  const tokens = iterableOf("vocabulary", "the bytes of all tokens", tokenBytes);
  const offsets = new Uint32Array(tokens.length + 1);
  let end = 0;
  for (const [id, token] of tokens.entries()) {
    if (!(token instanceof Uint8Array) || token.length > maxTokenBytes)
      throw argumentError(
        "vocabulary",
        `token ${id} to be at most ${maxTokenBytes} bytes`,
        token instanceof Uint8Array ? `${token.length}` : shown(token),
      );
    end += token.length;
    offsets[id + 1] = end;
  }
  const bytes = new Uint8Array(end);
  for (const [id, token] of tokens.entries()) bytes.set(token, offsets[id]);
  const isText = Uint8Array.from(tokens, ({ length }) => (length > 0 ? 1 : 0));
  const ends = [...new Set(iterableOf("vocabulary", "endIds to be a list of ids", endIds))];
  for (const id of [...ends, ...iterableOf("vocabulary", "specialIds to be a list of ids", specialIds)]) {
    if (!Number.isInteger(id) || id < 0 || id >= tokens.length) throw argumentError("vocabulary", `ids below ${tokens.length}`, shown(id));
    isText[id] = 0;
  }
  return new Vocabulary({ bytes, offsets }, ends, isText);
}

function areEqual(strings: Strings, a: number, b: number): boolean {
  const { bytes } = strings;
  let [i, endA] = boundsOf(strings, a);
  let [j, endB] = boundsOf(strings, b);
  if (endA - i !== endB - j) return false;
  for (; i < endA; i++, j++) if (bytes[i] !== bytes[j]) return false;
  return true;
}

/**
 * Code points of plain text: those that JSON strings need no escape for, without the line and paragraph separators, which the dot of a regular
 * expression does not match.
 */
export const plainRanges = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0x2027],
  [0x202a, 0x10ffff],
] as const;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Code points of plain text, or 0 for bytes that are no whole characters of plain text. */
function plainLength(bytes: Uint8Array): number {
  let length = 0;
  let isAscii = true;
  for (const byte of bytes) {
    if (byte < 0x20 || byte === 0x22 || byte === 0x5c) return 0;
    if (byte < 0x80 || byte >= 0xc0) length++;
    if (byte >= 0x80) isAscii = false;
  }
  if (isAscii) return length;
  try {
    return /[\u2028\u2029]/.test(decoder.decode(bytes)) ? 0 : length;
  } catch {
    return 0;
  }
}
