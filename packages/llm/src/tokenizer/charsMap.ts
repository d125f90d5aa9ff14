import { TokenizerError } from "../errors.ts";

const empty = new Uint8Array(0);

/** Replacement of a byte sequence. */
export interface Replacement {
  readonly bytes: Uint8Array;
  /** Length of the sequence that is replaced. */
  readonly consumed: number;
}

/**
 * SentencePiece's precompiled normalisation (`precompiled_charsmap`): a trie of byte sequences, and their replacements.
 *
 * The first four bytes are the size of the trie, a XOR-compressed compact double array (Kanda, 2018) of 32-bit units. The replacements
 * follow, each terminated by a zero byte. Bits of a unit: 0 to 7 are its label, 8 is set if a value follows, 9 and 10 to 30 are the offset
 * of its children. Values have bit 31 set, so that they match no label.
 */
export class CharsMap {
  readonly #units: Uint32Array;
  readonly #replacements: Uint8Array;

  /** @throws {TokenizerError} if the sizes contradict each other */
  constructor(blob: Uint8Array) {
    const size = blob.length < 4 ? -1 : new DataView(blob.buffer, blob.byteOffset).getUint32(0, true);
    if (size < 0 || size % 4 !== 0 || 4 + size >= blob.length) throw damaged(`a trie of ${size} bytes in ${blob.length}`);
    const view = new DataView(blob.buffer, blob.byteOffset + 4, size);
    this.#units = Uint32Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 * i, true));
    this.#replacements = blob.subarray(4 + size);
  }

  /**
   * The replacement of the longest sequence of the trie that `text` has at `from`, if any.
   * @throws {TokenizerError} if the trie is damaged
   */
  longest(text: Uint8Array, from: number): Replacement | undefined {
    let node = childrenOf(this.#unit(0));
    let value = -1;
    let consumed = 0;
    for (let i = from; i < text.length; i++) {
      const byte = text[i] ?? 0;
      if (byte === 0) break;
      node ^= byte;
      const unit = this.#unit(node);
      if ((unit & 0x800000ff) !== byte) break;
      node ^= childrenOf(unit);
      if ((unit & 0x100) !== 0) {
        value = this.#unit(node) & 0x7fffffff;
        consumed = i + 1 - from;
      }
    }
    return value < 0 ? undefined : { bytes: this.#replacement(value), consumed };
  }

  #unit(index: number): number {
    const unit = this.#units[index];
    if (unit === undefined) throw damaged(`node ${index} of ${this.#units.length}`);
    return unit;
  }

  #replacement(start: number): Uint8Array {
    if (start >= this.#replacements.length) throw damaged(`replacement ${start} of ${this.#replacements.length}`);
    const end = this.#replacements.indexOf(0, start);
    return end === start ? empty : this.#replacements.subarray(start, end < 0 ? undefined : end);
  }
}

/** Offset of a unit's children. */
function childrenOf(unit: number): number {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}

function damaged(got: string): TokenizerError {
  return new TokenizerError(
    `tokenizer: expected a complete trie in tokenizer.ggml.precompiled_charsmap, got ${got}; convert the model again`,
  );
}
