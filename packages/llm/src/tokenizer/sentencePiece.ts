import { ByteTokens } from "./byteTokens.ts";
import { KeyHeap } from "./keyHeap.ts";
import { preTokenize } from "./preTokenize.ts";
import type { TextModel } from "./textModel.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { Vocabulary, type VocabularyMetadata } from "./vocabulary.ts";
import { VocabularyTokenizer } from "./vocabularyTokenizer.ts";
import { WordCache } from "./wordCache.ts";

/** SentencePiece's visible space, U+2581. */
const visibleSpace = "\u2581";
/** Position before a run of spaces. */
const betweenWords = /(?<!\u2581)(?=\u2581)/g;
const positions = 2 ** 32;
const encoder = new TextEncoder();

/**
 * SentencePiece BPE: the pair of neighbours that forms the token with the highest score (the leftmost of equals) becomes one
 * symbol, until no pair forms a token. Characters without a token become byte tokens `<0xXX>`.
 */
class SentencePieceModel implements TextModel {
  readonly #vocabulary: Vocabulary;
  readonly #byteTokens: ByteTokens;
  readonly #addSpacePrefix: boolean;
  /** Rank of each token's score among all scores, the highest first. Equal scores have the same rank. */
  readonly #ranks: Int32Array;
  /** Whether merging never crosses from a character to a following space, so that words can be merged one by one. */
  readonly #wordsAreSeparate: boolean;
  readonly #cache = new WordCache();
  readonly #heap = new KeyHeap();

  constructor(vocabulary: Vocabulary, addSpacePrefix: boolean) {
    this.#vocabulary = vocabulary;
    this.#byteTokens = new ByteTokens(vocabulary);
    this.#addSpacePrefix = addSpacePrefix;
    this.#ranks = ranksOf(vocabulary.scores);
    this.#wordsAreSeparate = !vocabulary.texts.some((text) => /[^\u2581]\u2581/.test(text));
  }

  *encodeText(text: string, atBoundary: boolean, out: number[]): Generator<void> {
    const visible = (this.#addSpacePrefix && atBoundary ? ` ${text}` : text).replaceAll(" ", visibleSpace);
    for (const words of preTokenize(visible, this.#wordsAreSeparate ? [betweenWords] : [])) {
      for (const word of words) for (const id of this.#cache.get(word) ?? this.#cache.set(word, this.#encodeWord(word))) out.push(id);
      yield;
    }
  }

  pieceBytes(text: string): Uint8Array {
    return encoder.encode(text.replaceAll(visibleSpace, " "));
  }

  #encodeWord(word: string): number[] {
    const { ids } = this.#vocabulary;
    const starts: number[] = [];
    let end = 0;
    for (const character of word) {
      starts.push(end);
      end += character.length;
    }
    const count = starts.length;
    starts.push(end);
    const next = Int32Array.from({ length: count }, (_, i) => i + 1);
    const previous = Int32Array.from({ length: count }, (_, i) => i - 1);
    /** The token that a symbol forms with its right neighbour, or -1. A symbol that is merged into its left neighbour has -2. */
    const pairs = new Int32Array(count).fill(-1);
    const heap = this.#heap;
    heap.clear();
    const offer = (left: number): void => {
      if (left < 0) return;
      const right = next[left]!;
      pairs[left] = right >= count ? -1 : (ids.get(word.slice(starts[left]!, starts[next[right]!]!)) ?? -1);
      if (pairs[left] >= 0) heap.push(this.#ranks[pairs[left]]! * positions + left, pairs[left]);
    };
    for (let i = 0; i < count; i++) offer(i);

    while (heap.pop()) {
      const token = heap.payload;
      const left = heap.key - this.#ranks[token]! * positions;
      if (pairs[left] !== token) continue;
      const right = next[left]!;
      next[left] = next[right]!;
      if (next[left] < count) previous[next[left]] = left;
      pairs[right] = -2;
      offer(previous[left]!);
      offer(left);
    }

    const out: number[] = [];
    for (let i = 0; i < count; i = next[i]!) {
      const text = word.slice(starts[i]!, starts[next[i]!]!);
      const id = ids.get(text);
      if (id === undefined) this.#byteTokens.append(text, out);
      else out.push(id);
    }
    return out;
  }
}

function ranksOf(scores: Float32Array): Int32Array {
  const distinct = Float32Array.from(new Set(scores)).sort().reverse();
  const ranks = new Map(Array.from(distinct, (score, rank) => [score, rank] as const));
  return Int32Array.from(scores, (score) => ranks.get(score) ?? distinct.length);
}

/** Creates the tokenizer of a file of kind "llama". @throws {TokenizerError} if a table is broken */
export function createSentencePiece(metadata: VocabularyMetadata): Tokenizer {
  const vocabulary = new Vocabulary(metadata, { bosId: 1, eosId: 2, unknownId: 0, addBos: true });
  const addSpacePrefix = metadata.optionalBool("tokenizer.ggml.add_space_prefix") ?? true;
  return new VocabularyTokenizer("llama", metadata, vocabulary, new SentencePieceModel(vocabulary, addSpacePrefix), addSpacePrefix);
}
