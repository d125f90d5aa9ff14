import type { Operand } from "@centella/core";
import type { Heap } from "../../heap.ts";
import type { ParamsOf, Run } from "../../kernel.ts";

/** i32 fields of a segment: first row, number of positions, first position less the query's. */
export const segmentFields = 3;

export interface Tables {
  readonly cache: Operand;
  readonly positions: Operand;
  readonly seqOf: Operand;
  readonly blockTable: Operand;
  readonly seqLens: Operand;
}

/** What a query sees of its sequence, as `from <= position < end`. */
export interface Range {
  readonly sequence: number;
  readonly position: number;
  readonly from: number;
  readonly end: number;
}

/** Segments in memory and the positions that they hold. */
export interface Segments {
  readonly count: number;
  readonly positions: number;
}

/** The positions that queries see, as runs of neighbouring rows. Positions outside the tables or the cache are not seen. */
export class Visible {
  readonly #heap: Heap;
  readonly #params: ParamsOf<"attention">;
  readonly #size: number;
  readonly #sequences: number;
  readonly #maxBlocks: number;
  readonly #at: { readonly positions: number; readonly seqOf: number; readonly blockTable: number; readonly seqLens: number };

  constructor(heap: Heap, tables: Tables, params: ParamsOf<"attention">, run: Run) {
    this.#heap = heap;
    this.#params = params;
    [this.#size] = run.shape(tables.cache) as readonly [number];
    [this.#sequences, this.#maxBlocks] = run.shape(tables.blockTable) as readonly [number, number];
    const at = (operand: Operand): number => run.address(operand) / 4;
    this.#at = {
      positions: at(tables.positions),
      seqOf: at(tables.seqOf),
      blockTable: at(tables.blockTable),
      seqLens: at(tables.seqLens),
    };
  }

  sequence(t: number): number {
    return this.#heap.i32[this.#at.seqOf + t]!;
  }

  range(t: number): Range {
    const { blockSize, causal, window } = this.#params;
    const memory = this.#heap.i32;
    const [position, sequence] = [memory[this.#at.positions + t]!, this.sequence(t)];
    if (sequence < 0 || sequence >= this.#sequences) return { sequence, position, from: 0, end: 0 };
    const length = Math.min(memory[this.#at.seqLens + sequence]!, this.#maxBlocks * blockSize);
    const end = causal ? Math.min(length, position + 1) : length;
    return { sequence, position, from: window > 0 ? Math.max(0, position - window + 1) : 0, end };
  }

  /** Writes the cache slots of a range as segments. */
  slots({ sequence, position, from, end }: Range, address: number): Segments {
    const { blockSize } = this.#params;
    const memory = this.#heap.i32;
    let [at, count, seen] = [address / 4 - segmentFields, 0, 0];
    let next = -1;
    for (let j = from; j < end; ) {
      const block = Math.floor(j / blockSize);
      const slot = memory[this.#at.blockTable + sequence * this.#maxBlocks + block]! * blockSize + (j % blockSize);
      const run = Math.min(end, (block + 1) * blockSize) - j;
      const inside = slot < 0 ? 0 : Math.max(0, Math.min(run, this.#size - slot));
      if (inside > 0 && slot === next) memory[at + 1]! += inside;
      else if (inside > 0) {
        at += segmentFields;
        count++;
        memory[at] = slot;
        memory[at + 1] = inside;
        memory[at + 2] = j - position;
      }
      next = inside === run ? slot + run : -1;
      seen += inside;
      j += run;
    }
    return { count, positions: seen };
  }

  /** Writes what a query sees of rows that were copied one after the other from the segments of `copied`, which lie at `from`. */
  rows(range: Range, copied: Range, { count: copiedCount }: Segments, from: number, address: number): Segments {
    const memory = this.#heap.i32;
    let [at, count, seen, row] = [address / 4 - segmentFields, 0, 0, 0];
    for (let segment = 0; segment < copiedCount; segment++) {
      const field = from / 4 + segmentFields * segment;
      const length = memory[field + 1]!;
      const first = memory[field + 2]! + copied.position;
      const [start, end] = [Math.max(first, range.from), Math.min(first + length, range.end)];
      if (start < end) {
        const offsetHere = start - range.position;
        // Neighbours in the copy are one segment if their positions are neighbours too.
        if (count > 0 && memory[at + 2]! + memory[at + 1]! === offsetHere) memory[at + 1]! += end - start;
        else {
          at += segmentFields;
          count++;
          memory[at] = row + start - first;
          memory[at + 1] = end - start;
          memory[at + 2] = offsetHere;
        }
        seen += end - start;
      }
      row += length;
    }
    return { count, positions: seen };
  }
}
