import type { FunctionBuilder, Local, V128 } from "../emit/index.ts";
import type { Target } from "../target.ts";
import type { Half, InterleavedBlock } from "./block.ts";
import type { Field } from "./field.ts";

/** Words of any width. */
export type Words = Uint8Array | Uint16Array | Uint32Array;

/** What changes places when rows are interleaved, besides units: bits of stretches of bytes, which fields hold in one piece each. */
export interface BitExchange {
  /** Offsets of stretches in the block of one row whose bits are exchanged with one another. */
  readonly stretches: readonly (readonly number[])[];
  /** Bytes of a stretch. */
  readonly bytes: number;
  /** Makes interleaved bits of those of rows, in place: `count` words of each stretch, of stretch `i` from `words[first + at[i]]` on. */
  exchange(words: Words, first: number, at: readonly number[], count: number): void;
  /** The inverse of {@link exchange}. */
  restore(words: Words, first: number, at: readonly number[], count: number): void;
}

/** What emits code for one block of eight interleaved rows. */
export interface BlockContext {
  readonly f: FunctionBuilder;
  readonly target: Target;
  readonly block: InterleavedBlock;
}

/** Four bytes per row in each word: byte `b` of word `w` belongs to run `runs[w][b]`. */
export interface RunBytes {
  readonly words: readonly Local<"v128">[];
  readonly areSigned: boolean;
}

/**
 * A block of weights as kernels read it: eight rows interleaved (see interleave.ts), so that a vector has four bytes of each of four
 * rows. A weight is `d * (code - bias)`, or `d * code + m`, or with integer scales per run `d * scale * (code - bias)`, or
 * `d * scale * code - dmin * minimum`.
 */
export interface GroupFormat {
  readonly elements: 32 | 256;
  readonly bytes: number;
  /** The bytes of a block in the order that they have interleaved. */
  readonly fields: readonly Field[];
  readonly bitExchange?: BitExchange;
  /** What ggml rounds activations to for this format. */
  readonly rounding: Rounding;
  /** Codes are from 0 to this, at most 127; undefined: signed bytes. */
  readonly largestCode: number | undefined;
  /** 2^biasBits is taken from each code. */
  readonly biasBits?: number;
  /** Elements that share an integer scale or have a scale of their own. */
  readonly runElements: 16 | 32;
  /** The order in which the units of a run are read best; 0, 1, … if undefined. */
  readonly unitOrder?: readonly number[];
  /** Codes of four consecutive elements of four rows: unit `index` of the block. */
  codes(context: BlockContext, index: number, half: Half): V128;
  /** Scales of four rows in f32, of the block or where {@link hasRunScales} of run `run`. */
  d(context: BlockContext, half: Half, run: number): V128;
  readonly hasRunScales?: boolean;
  /** Integer scales of the runs. */
  scales?(context: BlockContext, half: Half): RunBytes;
  /** f32 that is added to every weight. */
  m?(context: BlockContext, half: Half): V128;
  /** Integer minima of the runs, unsigned, and the f32 scale of what is taken from every weight. */
  readonly minima?: {
    readonly dmin: (context: BlockContext, half: Half) => V128;
    readonly bytes: (context: BlockContext, half: Half) => RunBytes;
  };
}

export type Rounding = "q8_0" | "q8_K";
