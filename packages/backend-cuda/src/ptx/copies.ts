import type { U32 } from "@centella/gpu-kernels";
import { AtomicWriter } from "./atomic.ts";
import type { Elem, Global, Shared } from "./types.ts";

/** Copies of 16 bytes to shared memory that run beside the thread that starts them. */
export class CopyWriter extends AtomicWriter {
  /**
   * Starts a copy of 16 bytes; both addresses are multiples of 16. Only `bytes` of them are read, 0 to 16; the rest becomes zeros. It belongs to
   * the next {@link commitCopies} of this thread.
   */
  copyPiece(to: Shared<Elem>, from: Global<Elem>, bytes?: U32): void {
    this.emit(`cp.async.cg.shared.global [${to}], [${from}], 16${bytes === undefined ? "" : `, ${bytes}`}`);
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
