import type { FunctionBuilder, Local, V128 } from "../emit/index.ts";
import type { Target } from "../target.ts";
import type { BitMove } from "./bitExchange.ts";
import type { Half, InterleavedBlock } from "./block.ts";
import type { Field } from "./field.ts";

/**
 * Bits that are exchanged between stretches of bytes when rows are interleaved, in addition to units. Each stretch is
 * part of one field.
 */
export interface BitExchange {
  /** Offsets in a single row's block of the stretches that exchange bits, which are the words of {@link moves}. */
  readonly stretches: readonly (readonly number[])[];
  /** Bytes of a stretch. */
  readonly bytes: number;
  /** The moves of each word of the stretches. */
  readonly moves: () => readonly BitMove[];
}

/** Inputs of the emitters for one block of eight interleaved rows. */
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
 * A weight block as kernels read it: eight rows interleaved (see interleave.ts), so that a vector has four bytes of
 * each of four rows. A weight is one of `d * (code - bias)`, `d * code + m`, or with integer scales per run `d * scale
 * * (code - bias)` or `d * scale * code - dmin * minimum`.
 */
export interface GroupFormat {
  readonly elements: 32 | 256;
  readonly bytes: number;
  /** The bytes of a block in interleaved order. */
  readonly fields: readonly Field[];
  readonly bitExchange?: BitExchange;
  /** ggml's rounding of activations for this format. */
  readonly rounding: Rounding;
  /** Maximum code, with 0 as the minimum: at most 127 as stored. Undefined for signed bytes. */
  readonly largestCode: number | undefined;
  /** The bias of codes is 2^biasBits. */
  readonly biasBits?: number;
  /** Elements of a run: they share an integer scale, or have their own scale. */
  readonly runElements: 16 | 32;
  /** Best order to read the units of a run; by default 0, 1, …. */
  readonly unitOrder?: readonly number[];
  /** Codes of four consecutive elements of four rows: unit `index` of the block. */
  codes(context: BlockContext, index: number, half: Half): V128;
  /** f32 scales of four rows: of the block, or with {@link hasRunScales} of run `run`. */
  d(context: BlockContext, half: Half, run: number): V128;
  readonly hasRunScales?: boolean;
  /** Integer scales of the runs. */
  scales?(context: BlockContext, half: Half): RunBytes;
  /** f32 added to every weight. */
  m?(context: BlockContext, half: Half): V128;
  /** Unsigned integer minima of the runs, and their f32 scale. */
  readonly minima?: {
    readonly dmin: (context: BlockContext, half: Half) => V128;
    readonly bytes: (context: BlockContext, half: Half) => RunBytes;
  };
}

export type Rounding = "q8_0" | "q8_K";
