import { unsignedLeb } from "./values.ts";

/** A growing array of bytes. */
export class ByteWriter {
  #bytes = new Uint8Array(256);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(byte: number): void {
    if (this.#length === this.#bytes.length) this.#grow(1);
    this.#bytes[this.#length++] = byte;
  }

  write(bytes: ArrayLike<number>): void {
    const end = this.#length + bytes.length;
    if (end > this.#bytes.length) this.#grow(bytes.length);
    // Instructions are a few bytes, which a loop copies faster than `set`.
    if (bytes.length > 16) this.#bytes.set(bytes, this.#length);
    else for (let i = 0; i < bytes.length; i++) this.#bytes[this.#length + i] = bytes[i]!;
    this.#length = end;
  }

  /** Content preceded by its length. */
  writeSized(content: ArrayLike<number>): void {
    this.write(unsignedLeb(content.length));
    this.write(content);
  }

  /** The bytes written so far; valid until the next write. */
  get written(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  #grow(by: number): void {
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + by));
    larger.set(this.written);
    this.#bytes = larger;
  }
}

/** Key of a few bytes for maps. */
export function bytesKey(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
