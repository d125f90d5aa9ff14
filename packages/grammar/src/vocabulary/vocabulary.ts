import { argumentError } from "../expression/builders.ts";
import { buildTrie, type Strings, sortedByBytes, type Trie } from "./trie.ts";

/** Which tokens of a vocabulary do not stand for text. */
export interface VocabularyOptions {
  /** Tokens that end the text. They are allowed exactly where the text may end, and never as text. */
  readonly endIds?: Iterable<number>;
  /** Control tokens: never allowed, whatever their text. */
  readonly specialIds?: Iterable<number>;
}

/** Tokens of similar length, all plain text or all not. Walks treat each tier on its own. */
export interface Tier {
  readonly trie: Trie;
  /** Whether all tokens are {@link isPlainText plain text}. */
  readonly isText: boolean;
  /** Mask of all tokens of a text tier. */
  readonly mask: Uint32Array;
}

/** The tokens of a model by their bytes: immutable, shared by all grammars. Made by {@link vocabulary}. */
export class Vocabulary {
  /** Number of tokens. */
  readonly size: number;
  /** Tokens that end the text. */
  readonly endIds: readonly number[];
  /** @internal */
  readonly tiers: readonly Tier[];
  /** First further token with the same bytes, or -1: a chain of all tokens with these bytes. @internal */
  readonly twins: Int32Array;
  readonly #strings: Strings;
  readonly #isText: Uint8Array;

  constructor(strings: Strings, endIds: readonly number[], isText: Uint8Array) {
    this.size = strings.offsets.length - 1;
    this.endIds = endIds;
    this.#strings = strings;
    this.#isText = isText;
    this.twins = new Int32Array(this.size).fill(-1);
    this.tiers = this.#buildTiers();
  }

  /** Words of 32 tokens in a mask. */
  get maskWords(): number {
    return (this.size + 31) >>> 5;
  }

  /** Bytes of a token that stands for text; undefined for all others. */
  bytesOf(id: number): Uint8Array | undefined {
    const { bytes, offsets } = this.#strings;
    return this.#isText[id] === 1 ? bytes.subarray(offsets[id]!, offsets[id + 1]!) : undefined;
  }

  /** One tier for each range of lengths, of plain text and of other tokens. */
  #buildTiers(): Tier[] {
    const plain: number[][] = textLengths.map(() => []);
    const other: number[][] = otherLengths.map(() => []);
    const { bytes, offsets } = this.#strings;
    let previous = -1;
    for (const id of sortedByBytes(this.#strings)) {
      if (this.#isText[id] === 0) continue;
      const [start, end] = [offsets[id]!, offsets[id + 1]!];
      if (previous >= 0 && equal(bytes, offsets[previous]!, offsets[previous + 1]!, start, end)) {
        this.twins[id] = this.twins[previous]!;
        this.twins[previous] = id;
        continue;
      }
      const fits = (length: number) => end - start <= length;
      if (isPlainText(bytes, start, end)) plain[textLengths.findIndex(fits)]!.push(id);
      else other[otherLengths.findIndex(fits)]!.push(id);
      previous = id;
    }
    const tier = (ids: number[], isText: boolean): Tier => ({
      trie: buildTrie(this.#strings, ids),
      isText,
      mask: this.#maskOf(ids, isText),
    });
    const tiers = [...plain.map((ids) => tier(ids, true)), ...other.map((ids) => tier(ids, false))];
    return tiers.filter(({ trie }) => trie.bytes.length > 0);
  }

  #maskOf(ids: readonly number[], isText: boolean): Uint32Array {
    const mask = new Uint32Array(isText ? this.maskWords : 0);
    if (isText) for (const id of ids) for (let each = id; each >= 0; each = this.twins[each]!) mask[each >> 5]! |= 1 << (each & 31);
    return mask;
  }
}

/** Longest strings, in bytes, of the tiers of plain text and of other tokens. */
const textLengths = [8, 16, 32, Infinity];
const otherLengths = [32, Infinity];
/** Longest token, in bytes. */
const maxTokenBytes = 0xffff;

/**
 * Prepares a vocabulary: once per model, about 0.1 s for 128,000 tokens. `tokenBytes` has the bytes of every token in the order of the ids.
 * Tokens without bytes are never allowed.
 * @throws {GrammarError} `GRAMMAR_ARGUMENT` if an id is outside the vocabulary, or a token has more than 65,535 bytes
 */
export function vocabulary(tokenBytes: Iterable<Uint8Array>, { endIds = [], specialIds = [] }: VocabularyOptions = {}): Vocabulary {
  const tokens = [...tokenBytes];
  const offsets = new Uint32Array(tokens.length + 1);
  for (const [id, token] of tokens.entries()) {
    if (!(token instanceof Uint8Array) || token.length > maxTokenBytes)
      throw argumentError(
        "vocabulary",
        `token ${id} to be at most ${maxTokenBytes} bytes`,
        token instanceof Uint8Array ? `${token.length}` : typeof token,
      );
    offsets[id + 1] = offsets[id]! + token.length;
  }
  const bytes = new Uint8Array(offsets[tokens.length]!);
  for (const [id, token] of tokens.entries()) bytes.set(token, offsets[id]);
  const isText = Uint8Array.from(tokens, ({ length }) => (length > 0 ? 1 : 0));
  const ends = [...new Set(endIds)];
  for (const id of [...ends, ...specialIds]) {
    if (!Number.isInteger(id) || id < 0 || id >= tokens.length) throw argumentError("vocabulary", `ids below ${tokens.length}`, `${id}`);
    isText[id] = 0;
  }
  return new Vocabulary({ bytes, offsets }, ends, isText);
}

function equal(bytes: Uint8Array, a: number, endA: number, b: number, endB: number): boolean {
  if (endA - a !== endB - b) return false;
  for (; a < endA; a++, b++) if (bytes[a] !== bytes[b]) return false;
  return true;
}

/** Code points of plain text: what may stand in a JSON string without an escape. */
export const plainRanges = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0x10ffff],
] as const;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Whether bytes are whole characters of plain text: valid UTF-8 without control characters, quotes and backslashes. */
function isPlainText(bytes: Uint8Array, start: number, end: number): boolean {
  let isAscii = true;
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte < 0x20 || byte === 0x22 || byte === 0x5c) return false;
    if (byte >= 0x80) isAscii = false;
  }
  if (isAscii) return true;
  try {
    decoder.decode(bytes.subarray(start, end));
    return true;
  } catch {
    return false;
  }
}
