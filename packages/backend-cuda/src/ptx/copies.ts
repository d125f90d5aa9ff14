import { AtomicWriter } from "./atomic.ts";
import type { Elem, Global, Shared } from "./types.ts";

/** Copies of 16 bytes to shared memory that run beside the thread that starts them. */
export class CopyWriter extends AtomicWriter {
  /** Starts a copy of 16 bytes; both addresses are multiples of 16. It belongs to the next {@link commitCopies} of this thread. */
  copyPiece(to: Shared<Elem>, from: Global<Elem>): void {
    this.emit(`cp.async.cg.shared.global [${to}], [${from}], 16`);
  }

  /** Ends a group of this thread's copies. */
  commitCopies(): void {
    this.emit("cp.async.commit_group");
  }

  /** Waits until all but the last `pending` groups of this thread's copies are over. Other threads may read them after a barrier. */
  waitCopies(pending: number): void {
    this.emit(`cp.async.wait_group ${pending}`);
  }
}
