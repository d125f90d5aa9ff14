import { ByteTokens } from "./byteTokens.ts";
import { ByteTrie } from "./byteTrie.ts";
import type { TextModel } from "./textModel.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { byte } from "./tokenKinds.ts";
import { Vocabulary, type VocabularyMetadata } from "./vocabulary.ts";
import { VocabularyTokenizer } from "./vocabularyTokenizer.ts";

/** Bytes between two points at which the encoding of a long text can be interrupted. */
const pauseBytes = 2 ** 16;
/** Costs are negative scores in units of 1/10000, of which tokens may have less than `maxCost`. */
const costUnits = 1e4;
const maxCost = 2e7;
/** Cost of a character that is encoded as bytes. */
const unknownCost = 1e7;
const byteOrderMark = "\ufeff";
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * PLaMo 2's unigram model: cuts a text into the tokens whose scores have the greatest sum, found from the end of the text. Among equal
 * sums the longest token at a place is chosen. Characters that no token covers are encoded as bytes.
 */
class ReverseUnigramModel implements TextModel {
  readonly #tokens = new ByteTrie();
  readonly #costs: Float64Array;
  readonly #byteTokens: ByteTokens;

  constructor(vocabulary: Vocabulary) {
    this.#costs = Float64Array.from(vocabulary.scores, (score) => -Math.sign(score) * Math.round(Math.abs(score) * costUnits));
    this.#byteTokens = new ByteTokens(vocabulary);
    for (const [id, text] of vocabulary.texts.entries())
      if (!vocabulary.is(id, byte) && this.#costs[id]! < maxCost) this.#tokens.insert(encoder.encode(text), id);
  }

  *encodeText(text: string, _atBoundary: boolean, out: number[]): Generator<void> {
    const bytes = encoder.encode(text.startsWith(byteOrderMark) ? text.slice(1) : text);
    const { length } = bytes;
    /** The least cost from each byte to the end, the first token of that path or -1 for bytes, and where that token ends. */
    const costs = new Float64Array(length + 1);
    const ids = new Int32Array(length + 1);
    const ends = new Int32Array(length + 1);
    let next = length;
    for (let start = length - 1; start >= 0; start--) {
      if (start % pauseBytes === 0) yield;
      if (isContinuation(bytes[start]!)) continue;
      costs[start] = costs[next]! + unknownCost;
      ids[start] = -1;
      ends[start] = next;
      // Longer tokens come later, and win where costs are equal.
      this.#tokens.forEachPrefix(bytes, start, (id, end) => {
        const cost = costs[end]! + this.#costs[id]!;
        if (cost > costs[start]!) return;
        costs[start] = cost;
        ids[start] = id;
        ends[start] = end;
      });
      next = start;
    }
    for (let start = 0; start < length; start = ends[start]!) {
      if (ids[start]! >= 0) out.push(ids[start]!);
      else this.#byteTokens.append(decoder.decode(bytes.subarray(start, ends[start])), out);
    }
  }

  pieceBytes(text: string): Uint8Array {
    return encoder.encode(text);
  }
}

/** Whether a byte of UTF-8 goes on with a character. */
function isContinuation(byteOfText: number): boolean {
  return (byteOfText & 0xc0) === 0x80;
}

/** Creates the tokenizer of a file of kind "plamo2". @throws {TokenizerError} if a table is broken */
export function createReverseUnigram(metadata: VocabularyMetadata): Tokenizer {
  const vocabulary = new Vocabulary(metadata, { bosId: 1, eosId: 2, unknownId: 0, paddingId: 3, addBos: undefined });
  return new VocabularyTokenizer("plamo2", metadata, vocabulary, new ReverseUnigramModel(vocabulary), false);
}
