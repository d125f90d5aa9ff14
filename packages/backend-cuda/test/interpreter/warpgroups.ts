import { bfloatToFloat, halfToFloat } from "@centella/quant";
import { Fault } from "./memory.ts";

/** Threads of a warpgroup. */
export const warpgroupThreads = 128;

/** Value of a register that a product is writing: arithmetic with it throws. */
export const busy: unique symbol = Symbol("a register that a product is writing");

/** Words of a descriptor of an operand in shared memory. */
type Descriptor = readonly [low: number, high: number];

/** A product's operands, as a thread hands them in. */
export interface ProductParts {
  /** Number of the list of registers. */
  readonly list: number;
  readonly sums: readonly (number | typeof busy)[];
  /** Four words of halves, or a descriptor. */
  readonly a: readonly number[];
  readonly b: Descriptor;
  readonly adds: boolean;
}

export interface ProductShape {
  readonly type: "f16" | "bf16";
  readonly columns: number;
  readonly isFragment: boolean;
  readonly isTransposed: boolean;
}

/** Sums of one list of registers, which products have written and threads have not taken yet. */
interface Result {
  readonly values: Float32Array;
  /** Last group of products that writes them. */
  group: number;
  readonly taken: Set<number>;
}

/** Reads a piece of 16 bytes of shared memory. */
type ReadPiece = (address: number) => readonly [DataView, number];

/** Products of one warpgroup: their results may be used only after a wait. */
export class Warpgroup {
  readonly #results = new Map<number, Result>();
  /** Left matrices in registers that products may be reading: by list of registers and thread, what they held, and the group of the product. */
  readonly #fragments = new Map<number, Map<number, { readonly words: readonly number[]; readonly group: number }>>();
  #group = 1;
  #completed = 0;
  #isOpen = false;

  /** Computes a product. `parts` are those of all threads. */
  start({ type, columns, isFragment, isTransposed }: ProductShape, parts: readonly ProductParts[], read: ReadPiece): void {
    const [first] = parts as [ProductParts];
    if (parts.some(({ adds }) => adds !== first.adds)) throw new Fault("a product that threads of a warpgroup do not agree about");
    if (parts.some(({ b }) => b[0] !== first.b[0] || b[1] !== first.b[1]))
      throw new Fault("a descriptor that is not the same in a warpgroup");
    const value = type === "f16" ? halfToFloat : bfloatToFloat;
    const reader = (descriptor: Descriptor, isAlongDepth: boolean): ((line: number, k: number) => number) => {
      const pieces = new Map<number, readonly [DataView, number]>();
      return (line, k) => {
        const at = placeOf(descriptor, isAlongDepth ? [k, line] : [line, k], isAlongDepth);
        const piece = at & ~15;
        const known = pieces.get(piece) ?? read(piece);
        pieces.set(piece, known);
        return value(known[0].getUint16(known[1] + (at & 15), true));
      };
    };
    const left = isFragment ? fragments(parts, value) : reader(first.a as unknown as Descriptor, false);
    const right = reader(first.b, isTransposed);
    const a = Float64Array.from({ length: 64 * 16 }, (_, i) => left(i >> 4, i & 15));
    const b = Float64Array.from({ length: columns * 16 }, (_, i) => right(i >> 4, i & 15));
    const sums = this.#sums(first.list, parts, columns, first.adds);
    for (let thread = 0; thread < warpgroupThreads; thread++) {
      const [row0, column0] = [16 * (thread >> 5) + ((thread & 31) >> 2), 2 * (thread & 3)];
      for (let i = 0; i < columns / 2; i++) {
        const [row, column] = [row0 + 8 * ((i >> 1) & 1), column0 + 8 * (i >> 2) + (i & 1)];
        let sum = first.adds ? sums[thread * (columns / 2) + i]! : 0;
        for (let k = 0; k < 16; k++) sum += a[16 * row + k]! * b[16 * column + k]!;
        sums[thread * (columns / 2) + i] = sum;
      }
    }
    this.#results.set(first.list, { values: sums, group: this.#group, taken: new Set() });
    this.#isOpen = true;
  }

  commit(): void {
    this.#group++;
    this.#isOpen = false;
  }

  wait(pending: number): void {
    this.#completed = Math.max(this.#completed, this.#group - 1 - pending);
  }

  /** A thread's sums in a list of registers, once after the wait for them. */
  take(list: number, thread: number): Float32Array | undefined {
    const result = this.#results.get(list);
    const own = thread % warpgroupThreads;
    if (result === undefined || result.group > this.#completed || result.taken.has(own)) return undefined;
    result.taken.add(own);
    const each = result.values.length / warpgroupThreads;
    return result.values.subarray(own * each, (own + 1) * each);
  }

  /** Notes what a thread's left matrix in registers holds, before {@link start}. */
  holdFragment(list: number, thread: number, words: readonly number[]): void {
    const byThread = this.#fragments.get(list) ?? new Map<number, { readonly words: readonly number[]; readonly group: number }>();
    this.#fragments.set(list, byThread.set(thread, { words, group: this.#group }));
  }

  /** Whether a thread's left matrix is one that {@link checkFragment} has to look at, after a wait. */
  holdsFragment(list: number, thread: number): boolean {
    return this.#fragments.get(list)?.has(thread) ?? false;
  }

  /** @throws {Fault} if the registers of a left matrix have changed since a product began to read them */
  checkFragment(list: number, thread: number, words: readonly number[]): void {
    const held = this.#fragments.get(list)?.get(thread);
    if (held === undefined) return;
    if (held.words.some((word, i) => word !== words[i])) throw new Fault("a register was written while a product may be reading it");
    if (held.group <= this.#completed) this.#fragments.get(list)?.delete(thread);
  }

  finish(): void {
    if (this.#isOpen || this.#completed < this.#group - 1) throw new Fault("the block ends while products are under way");
  }

  #sums(list: number, parts: readonly ProductParts[], columns: number, adds: boolean): Float32Array {
    const known = this.#results.get(list);
    const isInFlight = known !== undefined && known.taken.size < warpgroupThreads;
    if (isInFlight) return known.values;
    const values = new Float32Array(warpgroupThreads * (columns / 2));
    if (!adds) return values;
    parts.forEach(({ sums }, thread) => {
      if (sums.some((sum) => sum === busy)) throw new Fault("sums that another product is writing");
      values.set(sums as readonly number[], thread * sums.length);
    });
    return values;
  }
}

/**
 * Byte of shared memory of element `[row, column]` of an operand, whose rows run along the depth or across it. Source: PTX ISA, "Matrix
 * Descriptor Format" and the canonical layouts with 128-byte swizzling.
 */
function placeOf([low, high]: Descriptor, [row, column]: readonly [number, number], isAcross: boolean): number {
  if (high >>> 30 !== 1) throw new Fault("a descriptor without the swizzle of 128 bytes");
  const start = (low & 0x3fff) << 4;
  const leading = ((low >>> 16) & 0x3fff) << 4;
  const stride = (high & 0x3fff) << 4;
  const at = start + (row & 7) * 128 + (row >> 3) * stride + (isAcross ? (column >> 6) * leading + (column & 63) * 2 : column * 2);
  return at ^ (((at >> 7) & 7) << 4);
}

/** The left matrix, from the registers of all threads. */
function fragments(parts: readonly ProductParts[], value: (bits: number) => number): (row: number, k: number) => number {
  return (row, k) => {
    const lane = (row & 7) * 4 + ((k & 7) >> 1);
    const word = parts[32 * (row >> 4) + lane]!.a[((row >> 3) & 1) + 2 * (k >> 3)]!;
    return value((word >>> (16 * (k & 1))) & 65535);
  };
}
