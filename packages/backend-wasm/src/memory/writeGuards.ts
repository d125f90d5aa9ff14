import { KernelError } from "@centella/core";
import type { Heap } from "./heap.ts";

/** Bytes between temporaries where writes are checked: more than a misplaced vector store spans. */
export const guardGap = 64;

/** The guard byte of an address. It differs between neighbours, so that copies between gaps are detected too. */
function patternAt(address: number): number {
  return Math.imul(address, 0x9e3779b1) >>> 24;
}

/** Memory that kernels may write. */
export interface Owned {
  readonly name: string;
  readonly begin: number;
  readonly end: number;
}

/** Memory that kernels may not write, filled with a pattern that is checked after every run. */
export class WriteGuards {
  readonly #heap: Heap;
  readonly #gaps: readonly { readonly begin: number; readonly end: number; readonly after: string }[];

  /** Guards the parts of `[begin, end)` that no piece ever covers. */
  constructor(heap: Heap, begin: number, end: number, owned: readonly Owned[]) {
    this.#heap = heap;
    const gaps: { begin: number; end: number; after: string }[] = [];
    let [at, after] = [begin, "the start of the arena"];
    for (const piece of owned.toSorted((a, b) => a.begin - b.begin)) {
      if (piece.begin > at) gaps.push({ begin: at, end: piece.begin, after });
      if (piece.end >= at) [at, after] = [piece.end, piece.name];
    }
    if (end > at) gaps.push({ begin: at, end, after });
    this.#gaps = gaps;
    this.#fill();
  }

  /** @throws {KernelError} with the ops of the run and the address */
  check(ops: readonly string[]): void {
    const bytes = this.#heap.u8;
    for (const { begin, end, after } of this.#gaps) {
      const at = bytes.subarray(begin, end).findIndex((byte, i) => byte !== patternAt(begin + i));
      if (at < 0) continue;
      this.#fill();
      throw new KernelError([...new Set(ops)].join(", "), "", `it wrote outside its output, ${at} bytes after ${after}`);
    }
  }

  #fill(): void {
    const bytes = this.#heap.u8;
    for (const { begin, end } of this.#gaps) for (let at = begin; at < end; at++) bytes[at] = patternAt(at);
  }
}
