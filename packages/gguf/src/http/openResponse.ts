import { hasFileSystem } from "../source/place.ts";
import { TransientError } from "./request.ts";

/** Bytes between two reads, such as the padding between tensors, that are skipped rather than requested around. */
export const skippedBytes = 65_536;

/**
 * How long a response stays open for the next read, in ms: programs are compiled between a model's header and its weights. An open response
 * keeps Node's process, so it ends sooner there.
 */
const idleMs = (): number => (hasFileSystem() ? 2_000 : 30_000);

/** Bytes `at … end - 1` of a file on their way, taken in order by one read after the other. */
export class OpenResponse {
  /** The next byte. */
  at: number;
  readonly end: number;
  readonly #pieces: AsyncGenerator<Uint8Array, void, undefined>;
  readonly #controller = new AbortController();
  /** What has come and was not taken yet. */
  #rest: Uint8Array = new Uint8Array();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(at: number, end: number, open: (signal: AbortSignal) => AsyncGenerator<Uint8Array, void, undefined>) {
    this.at = at;
    this.end = end;
    this.#pieces = open(this.#controller.signal);
  }

  /** Whether bytes `offset … end - 1` are still to come, with little to skip before them. */
  isFollowedBy(offset: number, end: number): boolean {
    return offset >= this.at && offset - this.at <= Math.max(skippedBytes, this.#rest.length) && end <= this.end;
  }

  /** Bytes from `offset` on, which is not before `at`; those in between are dropped. @throws the signal's reason */
  async take(offset: number, length: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    while (this.at < offset + length) {
      const start = this.at;
      const piece = await this.piece(signal);
      const from = Math.max(0, offset - start);
      const until = Math.min(piece.length, offset + length - start);
      if (from < until) bytes.set(piece.subarray(from, until), start + from - offset);
      this.putBack(piece.subarray(until));
    }
    return bytes;
  }

  /** The next bytes, as many as come at once. @throws the signal's reason */
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

  /** Makes the end of the last piece, or all of it, the next bytes again. */
  putBack(bytes: Uint8Array): void {
    this.#rest = bytes;
    this.at -= bytes.length;
  }

  /** Closes itself if nobody takes anything for a while. */
  isIdle(onClose: () => void): void {
    this.#timer = setTimeout(() => {
      this.close();
      onClose();
    }, idleMs());
    // In Node an object: a process ends without waiting for it.
    (this.#timer as { unref?(): void }).unref?.();
  }

  isUsed(): void {
    clearTimeout(this.#timer);
  }

  close(): void {
    clearTimeout(this.#timer);
    if (this.at === this.end) {
      // All of it came: its end lets the connection serve the next request.
      void this.#pieces.next().catch(() => undefined);
      return;
    }
    // Ends the generator at its next step, and a request that is under way at once.
    void this.#pieces.return().catch(() => undefined);
    this.#controller.abort();
  }
}
