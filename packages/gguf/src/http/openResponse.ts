import { hasFileSystem } from "../source/place.ts";
import { TransientError } from "./request.ts";

/** Longest gap between two reads that is read and skipped instead of starting a request. Tensors have padding between them. */
export const skippedBytes = 65_536;

/**
 * Time for which a response stays open for the next read, in ms: programs are compiled between reading the header and the weights. An
 * open response keeps a Node process alive, so the time is shorter there.
 */
const idleMs = (): number => (hasFileSystem() ? 2_000 : 30_000);

/** A response with bytes `at … end - 1` of a file, which consecutive reads take in order. */
export class OpenResponse {
  /** The next byte. */
  at: number;
  readonly end: number;
  readonly #pieces: AsyncGenerator<Uint8Array, void, undefined>;
  readonly #controller = new AbortController();
  /** Bytes that arrived and were not taken. */
  #rest: Uint8Array = new Uint8Array();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(at: number, end: number, open: (signal: AbortSignal) => AsyncGenerator<Uint8Array, void, undefined>) {
    this.at = at;
    this.end = end;
    this.#pieces = open(this.#controller.signal);
  }

  /** Whether the response still has bytes `offset … end - 1`, after few bytes to skip. */
  isFollowedBy(offset: number, end: number): boolean {
    return offset >= this.at && offset - this.at <= Math.max(skippedBytes, this.#rest.length) && end <= this.end;
  }

  /** Fills `target` with the bytes from `offset`, which is at least `at`. Bytes before `offset` are dropped. @throws the signal's reason */
  async take(target: Uint8Array, offset: number, signal: AbortSignal | undefined): Promise<void> {
    const { length } = target;
    while (this.at < offset + length) {
      const start = this.at;
      const piece = await this.piece(signal);
      const from = Math.max(0, offset - start);
      const until = Math.min(piece.length, offset + length - start);
      if (from < until) target.set(piece.subarray(from, until), start + from - offset);
      this.putBack(piece.subarray(until));
    }
  }

  /** Returns the next piece of the response. @throws the signal's reason */
  async piece(signal: AbortSignal | undefined): Promise<Uint8Array> {
    const abort = (): void => this.#controller.abort(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      if (this.#rest.length === 0) {
        const { done, value } = await this.#pieces.next();
        if (done === true) throw new TransientError("the response was closed");
        this.#rest = value;
      }
    } finally {
      signal?.removeEventListener("abort", abort);
    }
    const piece = this.#rest;
    this.#rest = new Uint8Array();
    this.at += piece.length;
    return piece;
  }

  /** Returns the unused end of the last piece, so that it is read next. */
  putBack(bytes: Uint8Array): void {
    this.#rest = bytes;
    this.at -= bytes.length;
  }

  /** Closes the response unless it is used again within `idleMs`. */
  isIdle(onClose: () => void): void {
    this.#timer = setTimeout(() => {
      this.close();
      onClose();
    }, idleMs());
    // Node's timers are objects; unref() lets the process end without waiting for this one.
    (this.#timer as { unref?(): void }).unref?.();
  }

  isUsed(): void {
    clearTimeout(this.#timer);
  }

  close(): void {
    clearTimeout(this.#timer);
    if (this.at === this.end) {
      // Reading the end lets the connection serve the next request.
      void this.#pieces.next().catch(() => undefined);
      return;
    }
    // Ends the generator at its next step, and a pending request at once.
    void this.#pieces.return().catch(() => undefined);
    this.#controller.abort();
  }
}
