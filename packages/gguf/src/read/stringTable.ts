import { check, elementAt, number, string } from "@centella/quant/checks";

// ignoreBOM keeps a leading U+FEFF, which some vocabularies have as a token.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
/** Number of strings that are decoded together. */
const groupLength = 256;
/** Bytes from which a string's length in the file is no ASCII, so that it may continue a character. */
const longBytes = 128;

/**
 * An array of strings as the file holds it: bytes plus an offset for each. Strings are decoded (UTF-8, invalid bytes become U+FFFD) when
 * asked for, so a
 * vocabulary of 256K tokens costs its bytes, not 256K objects.
 */
export class StringTable implements Iterable<string> {
  readonly length: number;
  readonly #bytes: Uint8Array;
  readonly #starts: Uint32Array;

  /**
   * `bytes` holds the strings one after the other, each after its length in 8 bytes. String `i` starts at `starts[i]`; `starts[length]` is
   * the end.
   */
  constructor(bytes: Uint8Array, starts: Uint32Array) {
    this.#bytes = bytes;
    this.#starts = starts;
    this.length = starts.length - 1;
  }

  /** String `i`, or undefined outside `0 … length - 1`. */
  at(i: number): string | undefined {
    const bytes = this.bytes(i);
    return bytes === undefined ? undefined : decoder.decode(bytes);
  }

  /** UTF-8 bytes of string `i` as a view of the table (do not write to it), or undefined outside `0 … length - 1`. */
  bytes(i: number): Uint8Array | undefined {
    if (typeof i !== "number") check("string table", "i", i, number);
    const start = this.#starts[i];
    const next = this.#starts[i + 1];
    return start === undefined || next === undefined ? undefined : this.#bytes.subarray(start, next - 8);
  }

  /** Index of the first string that equals `text`, or -1. Compares all of them; build a Map for many look-ups. */
  indexOf(text: string): number {
    const wanted = new TextEncoder().encode(check("indexOf", "text", text, string));
    for (let i = 0; i < this.length; i++) {
      const bytes = this.#bytesAt(i);
      if (bytes.length === wanted.length && bytes.every((byte, k) => byte === wanted[k])) return i;
    }
    return -1;
  }

  /** All strings, decoded. */
  toArray(): string[] {
    return [...this];
  }

  *[Symbol.iterator](): Iterator<string> {
    for (let first = 0; first < this.length; first += groupLength) yield* this.#group(first, Math.min(this.length, first + groupLength));
  }

  /** Strings `first` to `last - 1`. They are decoded in one call with the lengths between them: one for each would take most of the time. */
  #group(first: number, last: number): readonly string[] {
    const [bytes, starts] = [this.#bytes, this.#starts];
    const from = starts[first]!;
    const text = decoder.decode(bytes.subarray(from, starts[last]! - 8));
    const texts: string[] = [];
    let at = from;
    let unit = 0;
    for (let i = first; i < last; i++) {
      const [start, end] = [starts[i]!, starts[i + 1]! - 8];
      // The length before the string.
      unit += start - at;
      const begin = unit;
      for (at = start; at < end; at++) {
        const byte = bytes[at]!;
        // Each character begins with one byte that continues none. Those of four bytes have two UTF-16 units.
        if ((byte & 0xc0) !== 0x80) unit += byte < 0xf0 ? 1 : 2;
      }
      if (end - start >= longBytes) return this.#oneByOne(first, last);
      texts.push(text.slice(begin, unit));
    }
    return text.includes("\ufffd") ? this.#oneByOne(first, last) : texts;
  }

  /** The same for strings that are not UTF-8 or have long lengths between them. */
  #oneByOne(first: number, last: number): readonly string[] {
    return Array.from({ length: last - first }, (_, i) => decoder.decode(this.#bytesAt(first + i)));
  }

  #bytesAt(i: number): Uint8Array {
    return this.#bytes.subarray(elementAt(this.#starts, i), elementAt(this.#starts, i + 1) - 8);
  }
}
