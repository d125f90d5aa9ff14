import { TokenizerError } from "../errors.ts";
import { ByteTrie } from "./byteTrie.ts";
import type { TextModel } from "./textModel.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { Vocabulary, type VocabularyMetadata } from "./vocabulary.ts";
import { VocabularyTokenizer } from "./vocabularyTokenizer.ts";

/** Bytes between two points at which the encoding of a long text can be interrupted. */
const pauseBytes = 2 ** 16;
const encoder = new TextEncoder();
const escapes: Readonly<Record<string, string>> = { t: "\t", n: "\n", r: "\r" };

/** RWKV's tokenizer: cuts a text into the longest tokens from its start. Tokens are any bytes, which files spell with escapes. */
class LongestMatchModel implements TextModel {
  readonly #tokens = new ByteTrie();
  readonly #unknownId: number | undefined;

  constructor(vocabulary: Vocabulary) {
    this.#unknownId = vocabulary.unknownId;
    for (const [id, text] of vocabulary.texts.entries()) this.#tokens.insert(this.pieceBytes(text), id);
  }

  *encodeText(text: string, _atBoundary: boolean, out: number[]): Generator<void> {
    const bytes = encoder.encode(text);
    let nextPause = pauseBytes;
    for (let start = 0; start < bytes.length; ) {
      if (start >= nextPause) {
        yield;
        nextPause += pauseBytes;
      }
      let longest: { readonly id: number | undefined; readonly end: number } = { id: this.#unknownId, end: start + 1 };
      this.#tokens.forEachPrefix(bytes, start, (id, end) => {
        longest = { id, end };
      });
      if (longest.id === undefined)
        throw new TokenizerError(`encode: expected a token for every byte, got none for ${bytes[start]}; the vocabulary lacks byte tokens`);
      out.push(longest.id);
      start = longest.end;
    }
  }

  pieceBytes(text: string): Uint8Array {
    return unescaped(text);
  }
}

/** The bytes of a token's text, in which `\x` begins a byte in hexadecimal and other escapes stand for one character. */
function unescaped(text: string): Uint8Array {
  const bytes: number[] = [];
  for (const [part, hex, character] of text.matchAll(/\\x([0-9a-f]{2})|\\(.)|[^\\]+/gsu)) {
    if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
    else bytes.push(...encoder.encode(character === undefined ? part : (escapes[character] ?? character)));
  }
  return Uint8Array.from(bytes);
}

/** Creates the tokenizer of a file of kind "rwkv". @throws {TokenizerError} if a table is broken */
export function createLongestMatch(metadata: VocabularyMetadata): Tokenizer {
  const vocabulary = new Vocabulary(metadata, { addBos: undefined });
  return new VocabularyTokenizer("rwkv", metadata, vocabulary, new LongestMatchModel(vocabulary), false);
}
