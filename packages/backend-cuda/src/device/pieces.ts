import { type Chunk, chunksOf } from "@centella/core/backend";
import { type Device, maxPollMicroseconds } from "./device.ts";

/** Bytes that the host copies at a time while the device copies others. */
export const pieceBytes: number = 2 ** 20;

/** Pieces of one transfer that are under way at most. */
const maxPieces = 8;

/** Bytes of page-locked memory that a transfer of `bytes` bytes goes through. */
export function ringBytes(bytes: number): number {
  return Math.min(bytes, maxPieces * pieceBytes);
}

/** A piece that the device copies. */
interface Underway {
  readonly piece: Chunk;
  readonly at: number;
  readonly copied: Promise<void>;
}

/**
 * Moves `bytes` bytes through a ring of {@link ringBytes} bytes. `start` queues the device's copy of a piece, from or to byte `at` of the ring.
 * `end` is called in the same order, each time when the device has copied a piece. Queues the first pieces within the call; no copy is under way
 * when the promise settles.
 */
export async function moveInPieces(
  device: Device,
  bytes: number,
  start: (piece: Chunk, at: number) => void,
  end: (piece: Chunk, at: number) => void,
): Promise<void> {
  const underway: Underway[] = [];
  const endFirst = async (): Promise<void> => {
    const first = underway.shift()!;
    await first.copied;
    end(first.piece, first.at);
  };
  try {
    for (const piece of chunksOf(bytes, 1, pieceBytes)) {
      if (underway.length === maxPieces) await endFirst();
      const at = piece.offset % (maxPieces * pieceBytes);
      start(piece, at);
      const copied = device.finished(undefined, maxPollMicroseconds);
      // After a failure, only the first is awaited.
      copied.catch(() => undefined);
      underway.push({ piece, at, copied });
    }
    while (underway.length > 0) await endFirst();
  } finally {
    await Promise.allSettled(underway.map(({ copied }) => copied));
  }
}
