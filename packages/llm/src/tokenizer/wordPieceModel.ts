import { TokenizerError } from "../errors.ts";
import type { TextModel } from "./textModel.ts";
import type { Vocabulary } from "./vocabulary.ts";
import { WordCache } from "./wordCache.ts";

/** What GGUF puts before the tokens that begin a word (the others lose BERT's `##`), U+2581. */
const wordStart = "\u2581";
const encoder = new TextEncoder();

/** CJK ideographs, each of which is a word. The fifth range ends where Hugging Face's tokenizers end it, one block late. */
const ideograph =
  /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/u;
const space = /\p{White_Space}/u;
/** Unassigned characters are kept. */
const dropped = /[\ufffd\p{Cc}\p{Cf}\p{Co}\p{Cs}]/u;
const accent = /\p{M}/u;
const wordOfItsOwn = /[\p{P}$+<=>^`|~]/u;

/** How words are normalised: `tokenizer.ggml.normalizer.*`. */
export interface WordNormalizer {
  readonly isLowercase: boolean;
  readonly stripsAccents: boolean;
}

/**
 * WordPiece, as BERT has it: lower case without accents unless the file says otherwise, split at white space and around punctuation and ideographs; each word is cut
 * into the longest tokens from its start, and is one unknown token if that does not come out.
 */
export class WordPieceModel implements TextModel {
  readonly #vocabulary: Vocabulary;
  readonly #normalizer: WordNormalizer;
  readonly #unknownId: number;
  readonly #longest: number;
  readonly #cache = new WordCache();

  /** @throws {TokenizerError} if the vocabulary has no unknown token */
  constructor(vocabulary: Vocabulary, normalizer: WordNormalizer) {
    if (vocabulary.unknownId === undefined) {
      throw new TokenizerError(
        "tokenizer: expected an unknown token in a WordPiece vocabulary, got none; set tokenizer.ggml.unknown_token_id",
      );
    }
    this.#vocabulary = vocabulary;
    this.#normalizer = normalizer;
    this.#unknownId = vocabulary.unknownId;
    this.#longest = vocabulary.texts.reduce((longest, text) => Math.max(longest, text.length), 0);
  }

  encodeText(text: string, _atBoundary: boolean, out: number[]): void {
    for (const word of words(text, this.#normalizer))
      for (const id of this.#cache.get(word) ?? this.#cache.set(word, this.#encodeWord(word))) out.push(id);
  }

  pieceBytes(text: string): Uint8Array {
    return encoder.encode(text.replaceAll(wordStart, " "));
  }

  #encodeWord(word: string): number[] {
    const text = wordStart + word;
    const out: number[] = [];
    for (let start = 0; start < text.length; ) {
      let end = Math.min(text.length, start + this.#longest);
      while (end > start && !this.#vocabulary.ids.has(text.slice(start, end))) end--;
      if (end === start) return [this.#unknownId];
      out.push(this.#vocabulary.ids.get(text.slice(start, end))!);
      start = end;
    }
    return out;
  }
}

/** The words of a text, normalised. */
function words(text: string, { isLowercase, stripsAccents }: WordNormalizer): string[] {
  const found: string[] = [];
  let word = "";
  const finish = (): void => {
    if (word !== "") found.push(word);
    word = "";
  };
  for (const original of text) {
    // The first character of the canonical decomposition alone: the accents of the others are gone.
    const char = stripsAccents ? firstOf(original.normalize("NFD")) : original;
    if (space.test(char)) finish();
    else if (!dropped.test(char) && !(stripsAccents && accent.test(char))) {
      const lower = isLowercase ? firstOf(char.toLowerCase()) : char;
      if (wordOfItsOwn.test(char) || ideograph.test(char)) {
        finish();
        found.push(lower);
      } else word += lower;
    }
  }
  finish();
  return found;
}

function firstOf(text: string): string {
  return String.fromCodePoint(text.codePointAt(0)!);
}
