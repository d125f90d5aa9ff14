import type { ByteOrder } from "../byteOrder.ts";
import { GgufError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { ByteSource } from "../source/byteSource.ts";

/** Thrown to {@link Cursor.parse}, never beyond it. */
const tooLittle = new Error("more of the header has to be read");

/**
 * Reads values one after the other from the start of a source. What has been read so far stays in one buffer that grows by
 * a factor, so a small header costs one small read and a large one a few, never the whole file.
 *
 * Use: `await need(n)` before the next `n` bytes, then the synchronous getters.
 */
export class Cursor {
  /** Byte of the file that the next getter reads. */
  offset = 0;
  /** Order of the bytes of a number; known once the version has been read. */
  byteOrder: ByteOrder = "little";
  readonly #source: ByteSource;
  readonly #signal: AbortSignal | undefined;
  #buffer: Uint8Array = new Uint8Array(0);
  #view: DataView = new DataView(this.#buffer.buffer);
  #filled = 0;
  #stream: AsyncIterator<Uint8Array> | undefined;
  #marked = 0;
  #wanted: readonly [length: number, what: string] = [0, ""];

  constructor(source: ByteSource, signal?: AbortSignal) {
    this.#source = source;
    this.#signal = signal;
  }

  /** Ends a stream that it reads from. */
  async close(): Promise<void> {
    await this.#stream?.return?.();
  }

  /**
   * Runs `step` on the bytes in memory. If {@link have} finds too few, more are read and `step` runs again from the last {@link mark}.
   */
  async parse<T>(step: () => T): Promise<T> {
    this.mark();
    for (;;) {
      try {
        return step();
      } catch (error) {
        if (error !== tooLittle) throw error;
        const [length, what] = this.#wanted;
        await this.need(length, what);
        this.offset = this.#marked;
      }
    }
  }

  /** Sets the point from which {@link parse} starts again. */
  mark(): void {
    this.#marked = this.offset;
  }

  /** For {@link parse}: goes on if the next `length` bytes are in memory. */
  have(length: number, what: () => string): void {
    if (this.available >= length) return;
    this.#wanted = [length, what()];
    throw tooLittle;
  }

  /** Bytes of the file after the cursor. */
  get remaining(): number {
    return this.#source.size - this.offset;
  }

  /** Bytes after the cursor that are in memory. */
  get available(): number {
    return this.#filled - this.offset;
  }

  /**
   * Makes the next `length` bytes available; `what` names them in errors.
   * @throws {GgufError} `truncated` if the file has fewer, `limit` if the header would grow too large
   */
  async need(length: number, what: string): Promise<void> {
    if (this.available >= length) return;
    this.fits(1, length, what);
    const end = this.offset + length;
    if (end > limits.headerBytes) {
      throw new GgufError("limit", {
        expected: `a header of at most ${limits.headerBytes} bytes`,
        got: `${what} up to byte ${end}`,
        offset: this.offset,
      });
    }
    if (this.#source.stream !== undefined) return this.#pull(end);
    const target = Math.min(
      this.#source.size,
      Math.max(end, limits.firstReadBytes, Math.min(4 * this.#filled, this.#filled + limits.readBytes)),
    );
    this.#reserve(target);
    while (this.#filled < target) {
      const piece = await this.#source.read(this.#filled, Math.min(limits.readBytes, target - this.#filled), this.#signal);
      this.#buffer.set(piece, this.#filled);
      this.#filled += piece.length;
    }
  }

  /**
   * Checks that `count` items of at least `itemBytes` each can follow at all, before anything is allocated for them.
   * @throws {GgufError} `truncated`
   */
  fits(count: number | bigint, itemBytes: number, what: string): void {
    if (Number(count) * itemBytes <= this.remaining) return;
    const expected = count === 1 ? `${itemBytes} bytes of ${what}` : `${count} ${what} of at least ${itemBytes} bytes each`;
    throw new GgufError("truncated", {
      expected,
      got: `${this.remaining} bytes to the end of the file`,
      offset: this.offset,
      hint: "the file is truncated or damaged; download or convert it again",
    });
  }

  /** A count or length of 8 bytes as a number, which is inexact from 2^53 on. */
  length64(): number {
    const at = this.#advance(8);
    const low = this.#view.getUint32(this.#isLittle ? at : at + 4, this.#isLittle);
    const high = this.#view.getUint32(this.#isLittle ? at + 4 : at, this.#isLittle);
    return high * 2 ** 32 + low;
  }

  u8(): number {
    return this.#view.getUint8(this.#advance(1));
  }

  u32(): number {
    return this.#view.getUint32(this.#advance(4), this.#isLittle);
  }

  u64(): bigint {
    return this.#view.getBigUint64(this.#advance(8), this.#isLittle);
  }

  skip(length: number): void {
    this.offset += length;
  }

  /** Bytes `start … offset - 1` of the file; a view where little else of the buffer would be kept with it. */
  since(start: number): Uint8Array {
    const bytes = this.#buffer.subarray(start, this.offset);
    return 2 * bytes.length >= this.#buffer.length ? bytes : bytes.slice();
  }

  /** The next `length` bytes, for a look before anything else is read. */
  peek(length: number): Uint8Array {
    return this.#buffer.subarray(this.offset, this.offset + length);
  }

  /** The next `length` bytes, copied, so that they outlive the buffer. */
  bytes(length: number): Uint8Array<ArrayBuffer> {
    const start = this.#advance(length);
    return new Uint8Array(this.#buffer.subarray(start, start + length));
  }

  get #isLittle(): boolean {
    return this.byteOrder === "little";
  }

  /** Takes from the source's stream until `end` is in memory. */
  async #pull(end: number): Promise<void> {
    this.#stream ??= this.#source.stream?.(this.#filled, this.#signal)[Symbol.asyncIterator]();
    while (this.#filled < end) {
      const piece = await this.#stream?.next();
      if (piece === undefined || piece.done) {
        throw new GgufError("truncated", {
          expected: `${end} bytes`,
          got: String(this.#filled),
          hint: "the source is shorter than it said",
        });
      }
      this.#reserve(this.#filled + piece.value.length);
      this.#buffer.set(piece.value, this.#filled);
      this.#filled += piece.value.length;
    }
  }

  #advance(length: number): number {
    const at = this.offset;
    this.offset += length;
    return at;
  }

  #reserve(length: number): void {
    if (length <= this.#buffer.length) return;
    const grown = new Uint8Array(Math.min(this.#source.size, Math.max(length, 2 * this.#buffer.length)));
    grown.set(this.#buffer.subarray(0, this.#filled));
    this.#buffer = grown;
    this.#view = new DataView(grown.buffer);
  }
}
