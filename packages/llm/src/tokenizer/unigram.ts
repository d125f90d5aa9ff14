import { TokenizerError } from "../errors.ts";
import { ByteTrie } from "./byteTrie.ts";
import { CharsMap } from "./charsMap.ts";
import type { TextModel } from "./textModel.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { normal, unused } from "./tokenKinds.ts";
import { Vocabulary, type VocabularyMetadata } from "./vocabulary.ts";
import { VocabularyTokenizer } from "./vocabularyTokenizer.ts";

/** SentencePiece's visible space, U+2581. */
const visibleSpace = "\u2581";
/** Difference between the score of an unknown character and that of the least likely token. */
const unknownPenalty = 10;
/** Bytes between two points at which the encoding of a long text can be interrupted. */
const pauseBytes = 2 ** 16;
const encoder = new TextEncoder();
const spaceBytes = encoder.encode(visibleSpace);
const space = 0x20;

/** How text is normalised before it is encoded. */
export interface UnigramOptions {
  readonly charsMap: CharsMap | undefined;
  readonly addSpacePrefix: boolean;
  /** Whether runs of spaces become one space, and spaces at the end are removed. */
  readonly mergeSpaces: boolean;
}

/**
 * SentencePiece's unigram model: cuts a text into the tokens whose scores (log probabilities) have the greatest sum, found by Viterbi's
 * algorithm. Runs of characters that no token covers become one unknown token.
 */
class UnigramModel implements TextModel {
  readonly #scores: Float32Array;
  readonly #unknownId: number;
  readonly #unknownScore: number;
  readonly #options: UnigramOptions;
  readonly #tokens = new ByteTrie();

  /** @throws {TokenizerError} if the vocabulary has no unknown token */
  constructor(vocabulary: Vocabulary, options: UnigramOptions) {
    if (vocabulary.unknownId === undefined) {
      throw new TokenizerError(
        "tokenizer: expected an unknown token in a unigram vocabulary, got none; set tokenizer.ggml.unknown_token_id",
      );
    }
    this.#scores = vocabulary.scores;
    this.#unknownId = vocabulary.unknownId;
    this.#options = options;
    let least = Number.POSITIVE_INFINITY;
    for (const [id, text] of vocabulary.texts.entries()) {
      // User-defined tokens are separated from the text before. Where they are not recognised, they are ordinary text.
      if (!vocabulary.is(id, normal | unused)) continue;
      if (vocabulary.is(id, normal)) least = Math.min(least, this.#scores[id]!);
      this.#tokens.insert(encoder.encode(text), id);
    }
    this.#unknownScore = Math.fround(least - unknownPenalty);
  }

  *encodeText(text: string, _atBoundary: boolean, out: number[]): Generator<void> {
    const bytes = this.#normalise(encoder.encode(text));
    const { length } = bytes;
    /** The greatest sum up to each byte, the last token of that path, and where that token begins. */
    const sums = new Float64Array(length + 1).fill(Number.NEGATIVE_INFINITY);
    const ids = new Int32Array(length + 1);
    const starts = new Int32Array(length + 1);
    sums[0] = 0;
    const offer = (id: number, start: number, end: number, score: number): void => {
      const sum = sums[start]! + score;
      if (sum <= sums[end]!) return;
      sums[end] = sum;
      ids[end] = id;
      starts[end] = start;
    };
    for (let [start, nextPause] = [0, pauseBytes]; start < length; ) {
      if (start >= nextPause) {
        yield;
        nextPause += pauseBytes;
      }
      const next = Math.min(length, start + bytesOfCharacter(bytes[start]!));
      let isCovered = false;
      this.#tokens.forEachPrefix(bytes, start, (id, end) => {
        if (end === next) isCovered = true;
        offer(id, start, end, this.#scores[id]!);
      });
      if (!isCovered) offer(this.#unknownId, start, next, this.#unknownScore);
      start = next;
    }
    const reversed: number[] = [];
    for (let end = length; end > 0; end = starts[end]!) {
      if (ids[end] !== this.#unknownId || reversed.at(-1) !== this.#unknownId) reversed.push(ids[end]!);
    }
    for (const id of reversed.reverse()) out.push(id);
  }

  pieceBytes(text: string): Uint8Array {
    return encoder.encode(text.replaceAll(visibleSpace, " "));
  }

  /** Applies the map of characters and makes spaces visible. Merges runs of spaces and adds one before the text, as the options ask for. */
  #normalise(text: Uint8Array): Uint8Array {
    const { charsMap, addSpacePrefix, mergeSpaces } = this.#options;
    const out = new ByteList(text.length + (text.length >> 2) + 16);
    let isWithinWord = false;
    let isPrefixed = !addSpacePrefix;
    for (let from = 0; from < text.length; ) {
      const replacement = charsMap?.longest(text, from);
      const size = replacement?.consumed ?? Math.min(text.length - from, bytesOfCharacter(text[from]!));
      for (const byte of replacement?.bytes ?? text.subarray(from, from + size)) {
        if (byte === space) {
          isWithinWord = false;
          if (!mergeSpaces) out.push(spaceBytes);
          continue;
        }
        if (!isWithinWord && (mergeSpaces || !isPrefixed)) {
          out.push(spaceBytes);
          isPrefixed = true;
        }
        isWithinWord = true;
        out.pushByte(byte);
      }
      from += size;
    }
    return out.done();
  }
}

/** A growing array of bytes. */
class ByteList {
  #bytes: Uint8Array;
  #length = 0;

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity);
  }

  pushByte(byte: number): void {
    if (this.#length === this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#length);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes[this.#length++] = byte;
  }

  push(bytes: Uint8Array): void {
    for (const byte of bytes) this.pushByte(byte);
  }

  done(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

/** Length of the UTF-8 sequence that a byte begins. */
function bytesOfCharacter(first: number): number {
  return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/** Creates the tokenizer of a file of kind "t5". @throws {TokenizerError} if a table is broken */
export function createUnigram(metadata: VocabularyMetadata): Tokenizer {
  const vocabulary = new Vocabulary(metadata, { eosId: 1, unknownId: 2, paddingId: 0, addBos: false, addEos: true });
  const blob = metadata.optionalNumbers("tokenizer.ggml.precompiled_charsmap");
  const addSpacePrefix = metadata.optionalBool("tokenizer.ggml.add_space_prefix") ?? false;
  const mergeSpaces = metadata.optionalBool("tokenizer.ggml.remove_extra_whitespaces") ?? false;
  const charsMap = blob === undefined || blob.length === 0 ? undefined : new CharsMap(Uint8Array.from(blob));
  const model = new UnigramModel(vocabulary, { charsMap, addSpacePrefix, mergeSpaces });
  return new VocabularyTokenizer("t5", metadata, vocabulary, model, addSpacePrefix || mergeSpaces);
}
