import type { Heap } from "../memory/heap.ts";
import { memoryMap } from "../memory/memoryMap.ts";
import { closed, controlFields, stageFields, stageNumbers } from "./stageRunner.ts";

/** A list of stages in memory: addresses of its first stage and its end. */
export interface StageRange {
  readonly first: number;
  readonly end: number;
}

/** The control block of a memory, as seen from JavaScript. One list runs at a time. */
export class Control {
  readonly #heap: Heap;

  constructor(heap: Heap) {
    this.#heap = heap;
  }

  /** Opens a non-empty list for the threads from index `firstThread` on. The caller's thread has the last index. */
  begin({ first, end }: StageRange, firstThread: number): void {
    const { i32 } = this.#heap;
    const stage = first / 4;
    this.#set("tile", closed);
    this.#setAddress("stage", first);
    this.#setAddress("end", end);
    this.#set("calls", i32[stage + stageFields.calls]!);
    this.#set("calls", i32[stage + stageFields.calls + 1]!, 1);
    for (const field of stageNumbers) this.#set(field, i32[stage + stageFields[field]]!);
    for (const field of ["done", "cancel", "failed"] as const) this.#set(field, 0);
    this.#set("firstThread", firstThread);
    this.#set("isRunning", 1);
    // A thread that sees the new epoch while the tile is closed can take nothing.
    this.#set("epoch", this.#get("epoch") + 1);
    this.#set("tile", 0);
  }

  /** Ends the list after the tiles in progress. */
  cancel(): void {
    this.#set("cancel", 1);
  }

  get isRunning(): boolean {
    return this.#get("isRunning") !== 0;
  }

  /** Whether a tile trapped. */
  get isFailed(): boolean {
    return this.#get("failed") !== 0;
  }

  /** Address of the current stage, or of the list's end. */
  get stage(): number {
    return (this.#get("stage") >>> 0) + 2 ** 32 * this.#get("stage", 1);
  }

  /** Changes whenever a thread makes progress. */
  get progress(): string {
    return (["epoch", "tile", "done"] as const).map((field) => this.#get(field)).join();
  }

  /** Forgets a list whose threads have ended. */
  clear(): void {
    this.#set("tile", closed);
    this.#set("isRunning", 0);
  }

  #get(field: keyof typeof controlFields, word = 0): number {
    return Atomics.load(this.#heap.i32, (memoryMap.control + controlFields[field]) / 4 + word);
  }

  #set(field: keyof typeof controlFields, value: number, word = 0): void {
    Atomics.store(this.#heap.i32, (memoryMap.control + controlFields[field]) / 4 + word, value);
  }

  #setAddress(field: "stage" | "end", address: number): void {
    this.#set(field, address);
    this.#set(field, Math.floor(address / 2 ** 32), 1);
  }
}

/** Writes a number as 64 bits. */
export function writeWords(i32: Int32Array, index: number, n: number): void {
  i32[index] = n;
  i32[index + 1] = Math.floor(n / 2 ** 32);
}
