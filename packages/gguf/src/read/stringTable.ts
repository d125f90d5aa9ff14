import { check, elementAt, number, string } from "@centella/quant/checks";

// ignoreBOM keeps a leading U+FEFF, which some vocabularies have as a token.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

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
    for (let i = 0; i < this.length; i++) yield decoder.decode(this.#bytesAt(i));
  }

  #bytesAt(i: number): Uint8Array {
    return this.#bytes.subarray(elementAt(this.#starts, i), elementAt(this.#starts, i + 1) - 8);
  }
}
