import { Fault, type Who } from "./memory.ts";

/** Which ordinary writes to shared memory copies and products may read: those that their thread has fenced. */
export class ProxyFences {
  /** Per two bytes: number of fences before the last ordinary write there, plus one; 0 for none. */
  readonly #unfenced: Int32Array;
  /** Number of fences of the block. */
  #fences = 0;
  /** By thread, the number of its last fence. */
  readonly #fenced = new Map<number, number>();

  constructor(sharedBytes: number) {
    this.#unfenced = new Int32Array(Math.ceil(sharedBytes / 2));
  }

  fence(thread: number): void {
    this.#fenced.set(thread, ++this.#fences);
  }

  wrote(i: number): void {
    this.#unfenced[i] = this.#fences + 1;
  }

  /** A copy begins to write there. */
  beginCopy(i: number): void {
    this.#unfenced[i] = 0;
  }

  /** @throws {Fault} if the last write there is one that its thread, `writer`, has not fenced */
  check(i: number, writer: number, who: Who): void {
    if (this.#unfenced[i]! > (this.#fenced.get(writer) ?? 0))
      throw new Fault(`${who()}: byte ${2 * i} of shared memory was written without a fence for copies and products`);
  }
}
