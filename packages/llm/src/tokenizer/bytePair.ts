import { describe } from "@centella/quant/checks";
import { TokenizerError } from "../errors.ts";
import { byteToChar, fromByteLevel, toByteLevel } from "./byteLevel.ts";
import { ByteTokens } from "./byteTokens.ts";
import { commonFamilies, findPreTokenizer, type PreTokenizer } from "./commonPreTokenizers.ts";
import { KeyHeap } from "./keyHeap.ts";
import { MergeTable } from "./mergeTable.ts";
import { type Cutter, preTokenize } from "./preTokenize.ts";
import type { TextModel } from "./textModel.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { type StringList, Vocabulary, type VocabularyMetadata } from "./vocabulary.ts";
import { VocabularyTokenizer } from "./vocabularyTokenizer.ts";
import { WordCache } from "./wordCache.ts";

const positions = 2 ** 32;
const keptSymbols = 2 ** 16;
const encoder = new TextEncoder();

/**
 * Byte-pair encoding of bytes or characters. Within each word of the pre-tokenizer, the pair of neighbours with the lowest merge rank (the
 * leftmost of equals) becomes one symbol, until no pair has a rank.
 */
class BytePairModel implements TextModel {
  readonly #vocabulary: Vocabulary;
  readonly #preTokenizer: PreTokenizer;
  readonly #ranks: MergeTable;
  /**
   * The two symbols that the merge of each rank joins, and the symbol that they become. Symbols are token ids, followed by numbers for texts
   * that are not tokens.
   */
  readonly #lefts: Int32Array;
  readonly #rights: Int32Array;
  readonly #merged: Int32Array;
  readonly #symbolOfByte: Int32Array;
  /** Symbols of texts that are not tokens but are merged into tokens. */
  readonly #extras: ReadonlyMap<string, number>;
  /** Texts of the symbols that are not tokens. */
  readonly #extraTexts: string[] = [];
  readonly #byteTokens: ByteTokens;
  readonly #patterns: readonly Cutter[];
  readonly #cache = new WordCache();
  readonly #heap = new KeyHeap();
  /** Buffers for the symbols of a word and their neighbours. Most words are short: allocating arrays would take longer than merging. */
  #symbols = new Int32Array(64);
  #next = new Int32Array(64);
  #previous = new Int32Array(64);

  constructor(vocabulary: Vocabulary, merges: StringList, preTokenizer: PreTokenizer) {
    this.#vocabulary = vocabulary;
    this.#byteTokens = new ByteTokens(vocabulary);
    this.#preTokenizer = preTokenizer;
    this.#ranks = new MergeTable(merges.length);
    this.#lefts = new Int32Array(merges.length);
    this.#rights = new Int32Array(merges.length);
    this.#merged = new Int32Array(merges.length);

    const extras = new Map<string, number>();
    const symbol = (text: string): number => {
      const existing = vocabulary.ids.get(text) ?? extras.get(text);
      if (existing !== undefined) return existing;
      const added = vocabulary.size + extras.size;
      extras.set(text, added);
      this.#extraTexts.push(text);
      return added;
    };
    this.#extras = extras;
    this.#symbolOfByte = preTokenizer.units === "bytes" ? Int32Array.from(byteToChar, symbol) : new Int32Array(0);
    const { space: mark } = preTokenizer;
    let joinsWords = false;
    let rank = 0;
    for (const merge of merges) {
      // From 1: the left part may itself be a space in vocabularies that do not map it.
      const space = merge.indexOf(" ", 1);
      if (space < 0)
        throw new TokenizerError(`tokenizer: expected "left right" in tokenizer.ggml.merges, got ${describe(merge)} at ${rank}`);
      const left = merge.slice(0, space);
      const right = merge.slice(space + 1);
      this.#lefts[rank] = symbol(left);
      this.#rights[rank] = symbol(right);
      this.#merged[rank] = symbol(left + right);
      joinsWords ||= mark !== undefined && !left.endsWith(mark) && right.startsWith(mark);
      this.#ranks.add(this.#lefts[rank]!, this.#rights[rank]!, rank);
      rank++;
    }
    // Text that no merge joins is cut before merging, so that the cache finds words that occur again.
    this.#patterns =
      mark === undefined || joinsWords ? preTokenizer.patterns : [...preTokenizer.patterns, new RegExp(`(?<!${mark})(?=${mark})`, "gu")];
  }

  *encodeText(text: string, _atBoundary: boolean, out: number[]): Generator<void> {
    const { space } = this.#preTokenizer;
    for (const words of preTokenize(space === undefined ? text : text.replaceAll(" ", space), this.#patterns)) {
      for (const word of words) for (const id of this.#cache.get(word) ?? this.#cache.set(word, this.#encodeWord(word))) out.push(id);
      yield;
    }
  }

  /** Bytes of a token. A character outside the byte mapping, of a token that was added as plain text, stands for itself. */
  pieceBytes(text: string): Uint8Array {
    const { units, space } = this.#preTokenizer;
    if (units === "bytes") return fromByteLevel(text);
    return encoder.encode(space === undefined ? text : text.replaceAll(space, " "));
  }

  #encodeWord(word: string): number[] {
    if (this.#preTokenizer.ignoreMerges) {
      const wordId = this.#vocabulary.ids.get(toByteLevel(word));
      if (wordId !== undefined) return [wordId];
    }
    const count = this.#takeSymbols(word);
    this.#merge(count);
    const ids: number[] = [];
    for (const symbol of this.#symbols.subarray(0, count)) {
      if (symbol < 0) continue;
      if (symbol < this.#vocabulary.size) ids.push(symbol);
      else this.#appendMissing(this.#textOf(symbol - this.#vocabulary.size), ids);
    }
    return ids;
  }

  /** Writes the symbols of a word and returns how many there are. */
  #takeSymbols(word: string): number {
    // A UTF-16 unit is three bytes at most.
    this.#makeRoom(3 * word.length);
    const symbols = this.#symbols;
    let count = 0;
    if (this.#preTokenizer.units === "bytes") {
      for (const byte of encoder.encode(word)) symbols[count++] = this.#symbolOfByte[byte]!;
      return count;
    }
    const { ids, size } = this.#vocabulary;
    // Unknown characters have symbols after all others.
    const unknown = size + this.#extraTexts.length;
    for (const char of word) symbols[count++] = ids.get(char) ?? this.#extras.get(char) ?? unknown + char.codePointAt(0)!;
    return count;
  }

  #makeRoom(count: number): void {
    const { length } = this.#symbols;
    // Buffers of a huge word are not kept.
    if (count <= length && length <= keptSymbols) return;
    const room = 2 * Math.max(count, 32);
    this.#symbols = new Int32Array(room);
    this.#next = new Int32Array(room);
    this.#previous = new Int32Array(room);
  }

  /** Text of a symbol that is not a token. */
  #textOf(extra: number): string {
    return this.#extraTexts[extra] ?? String.fromCodePoint(extra - this.#extraTexts.length);
  }

  /** Merges the first `count` symbols in place. A symbol that was merged into its left neighbour becomes -1. */
  #merge(count: number): void {
    const [symbols, next, previous] = [this.#symbols, this.#next, this.#previous];
    for (let i = 0; i < count; i++) {
      next[i] = i + 1;
      previous[i] = i - 1;
    }
    const heap = this.#heap;
    heap.clear();
    const offer = (left: number): void => {
      const right = left < 0 ? count : next[left]!;
      if (right >= count) return;
      const rank = this.#ranks.rank(symbols[left]!, symbols[right]!);
      if (rank >= 0) heap.push(rank * positions + left, rank);
    };
    for (let i = 0; i + 1 < count; i++) offer(i);

    while (heap.pop()) {
      const rank = heap.payload;
      const left = heap.key - rank * positions;
      const right = next[left]!;
      // The pair that was offered may have been merged away, from either side.
      if (symbols[left] !== this.#lefts[rank] || right >= count || symbols[right] !== this.#rights[rank]) continue;
      symbols[left] = this.#merged[rank]!;
      symbols[right] = -1;
      next[left] = next[right]!;
      if (next[left] < count) previous[next[left]] = left;
      offer(previous[left]!);
      offer(left);
    }
  }

  /** Appends the byte tokens of a symbol that is not a token. As in llama.cpp, bytes without a token are dropped: Falcon has none for U+0004. */
  #appendMissing(text: string, ids: number[]): void {
    if (this.#preTokenizer.units === "characters") {
      this.#byteTokens.appendKnown(text, ids);
      return;
    }
    for (const char of text) {
      const id = this.#vocabulary.ids.get(char);
      if (id !== undefined) ids.push(id);
    }
  }
}

/** Returns the pre-tokenizer of a name. @throws {TokenizerError} if the name is unknown */
type Finder = (name: string) => PreTokenizer;

/** Creates the tokenizer of a file of kind "gpt2". @throws {TokenizerError} if the pre-tokenizer is unknown or a table is broken */
export function createBytePair(metadata: VocabularyMetadata, preTokenizerFor: Finder): Tokenizer {
  const merges = metadata.optionalStrings("tokenizer.ggml.merges");
  if (merges === undefined) throw new TokenizerError("tokenizer: expected tokenizer.ggml.merges for byte-pair encoding, got no such key");
  const named = preTokenizerFor(preTokenizerName(metadata));
  const preTokenizer = { ...named, ignoreMerges: metadata.optionalBool("tokenizer.ggml.ignore_merges") ?? named.ignoreMerges };
  const vocabulary = new Vocabulary(metadata, { addBos: preTokenizer.addBos });
  return new VocabularyTokenizer("gpt2", metadata, vocabulary, new BytePairModel(vocabulary, merges, preTokenizer), false);
}

/** Like {@link createBytePair}, but loads the table of all pre-tokenizers only if the common ones do not include the file's. */
export async function loadBytePair(metadata: VocabularyMetadata): Promise<Tokenizer> {
  const common = findPreTokenizer(commonFamilies, preTokenizerName(metadata));
  if (common !== undefined) return createBytePair(metadata, () => common);
  return createBytePair(metadata, (await import("./regexPreTokenizers.ts")).preTokenizerFor);
}

function preTokenizerName(metadata: VocabularyMetadata): string {
  // Files with the kind "gemma4" have the pre-tokenizer of that name.
  if (metadata.optionalString("tokenizer.ggml.model") === "gemma4") return "gemma4";
  return metadata.optionalString("tokenizer.ggml.pre") ?? "default";
}
