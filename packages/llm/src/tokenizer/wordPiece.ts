import { entryOf } from "@centella/quant/checks";
import { TokenizerError } from "../errors.ts";
import { maxPieceLength, windowEnd } from "./preTokenize.ts";
import type { TextModel } from "./textModel.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { Vocabulary, type VocabularyMetadata } from "./vocabulary.ts";
import { VocabularyTokenizer } from "./vocabularyTokenizer.ts";
import { WordCache } from "./wordCache.ts";

/** Character before the tokens that begin a word in GGUF files, U+2581. The remaining tokens have no prefix, unlike BERT's `##`. */
const wordStart = "\u2581";
/** UTF-16 units between two points at which the encoding of a long text can be interrupted. */
const windowLength = 2 ** 16;
const encoder = new TextEncoder();
/** Maximum number of cached characters, which is more than texts in one language have. */
const maxCharacters = 65_536;

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
 * WordPiece as in BERT. Text is converted to lower case without accents, unless the file says otherwise, and split at white space and around
 * punctuation and ideographs. Each word is cut into the longest tokens from its start. A word that cannot be cut is one unknown token.
 */
class WordPieceModel implements TextModel {
  readonly #vocabulary: Vocabulary;
  readonly #normalizer: WordNormalizer;
  readonly #unknownId: number;
  readonly #longest: number;
  readonly #cache = new WordCache();
  readonly #characters = new Map<string, Character>();

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

  *encodeText(text: string, _atBoundary: boolean, out: number[]): Generator<void> {
    let [start, word] = [0, ""];
    while (start < text.length) {
      const end = windowEnd(text, start + windowLength);
      word = this.#encodeWords(text.slice(start, end), word, out);
      start = end;
      yield;
    }
    this.#encodeWords(" ", word, out);
  }

  pieceBytes(text: string): Uint8Array {
    return encoder.encode(text.replaceAll(wordStart, " "));
  }

  /**
   * Appends the ids of a text's words.
   * @param begun beginning of a word before the text, normalised
   * @returns the unfinished word at the end of the text, normalised
   */
  #encodeWords(text: string, begun: string, out: number[]): string {
    let word = begun;
    const take = (whole: string): void => {
      if (whole === "") return;
      for (const id of this.#cache.get(whole) ?? this.#cache.set(whole, this.#encodeWord(whole))) out.push(id);
    };
    for (const char of text) {
      const { role, text: normalized } = this.#character(char);
      if (role === "letter") word += normalized;
      if ((role !== "letter" && role !== "dropped") || word.length >= maxPieceLength) {
        take(word);
        word = "";
      }
      if (role === "word") take(normalized);
    }
    return word;
  }

  #character(char: string): Character {
    let cached = this.#characters.get(char);
    if (cached === undefined) {
      cached = characterOf(char, this.#normalizer);
      if (this.#characters.size >= maxCharacters) this.#characters.clear();
      this.#characters.set(char, cached);
    }
    return cached;
  }

  #encodeWord(word: string): number[] {
    const text = wordStart + word;
    const out: number[] = [];
    for (let start = 0; start < text.length; ) {
      let end = Math.min(text.length, start + this.#longest);
      while (end > start && !this.#vocabulary.ids.has(text.slice(start, end))) end--;
      if (end === start) return [this.#unknownId];
      out.push(entryOf(this.#vocabulary.ids, text.slice(start, end)));
      start = end;
    }
    return out;
  }
}

/** How a character affects the words around it, and its normalised text. */
interface Character {
  /** "space" ends a word, "dropped" is not there, "word" is one by itself. */
  readonly role: "space" | "dropped" | "word" | "letter";
  readonly text: string;
}

function characterOf(original: string, { isLowercase, stripsAccents }: WordNormalizer): Character {
  // The first character of the canonical decomposition alone: the accents of the others are gone.
  const char = stripsAccents ? firstOf(original.normalize("NFD")) : original;
  if (space.test(char)) return { role: "space", text: "" };
  if (dropped.test(char) || (stripsAccents && accent.test(char))) return { role: "dropped", text: "" };
  const isWord = wordOfItsOwn.test(char) || ideograph.test(char);
  return { role: isWord ? "word" : "letter", text: isLowercase ? firstOf(char.toLowerCase()) : char };
}

function firstOf(text: string): string {
  return String.fromCodePoint(text.codePointAt(0) ?? 0);
}

/** Creates the tokenizer of a file of kind "bert". @throws {TokenizerError} if a table is broken */
export function createWordPiece(metadata: VocabularyMetadata): Tokenizer {
  // Defaults are BERT's ids. Its texts begin with CLS and end with SEP.
  const clsId = metadata.optionalNumber("tokenizer.ggml.cls_token_id") ?? 101;
  const vocabulary = new Vocabulary(metadata, {
    bosId: clsId,
    unknownId: 100,
    separatorId: 102,
    paddingId: 0,
    addBos: true,
    addSeparator: true,
  });
  const isLowercase = metadata.optionalBool("tokenizer.ggml.normalizer.lowercase") ?? true;
  const stripsAccents = metadata.optionalBool("tokenizer.ggml.normalizer.strip_accents") ?? isLowercase;
  return new VocabularyTokenizer("bert", metadata, vocabulary, new WordPieceModel(vocabulary, { isLowercase, stripsAccents }), true);
}
