import type { TensorSpec } from "@centella/core";
import type { CustomCall } from "@centella/core/backend";

/** The call that a PTX kernel is generated for, with dims at the largest value that the launch must serve. See {@link PtxKernel}. */
export interface PtxCall<P extends object = object> extends CustomCall<P> {
  /** Byte offset of a symbolic dim's u32 value, in this run, in the buffer of dims. */
  dimOffset(name: string): number;
  /** The specs as recorded, symbolic dims and all. */
  readonly symbolic: { readonly inputs: readonly TensorSpec[]; readonly output: TensorSpec };
}

/**
 * One CUDA launch. The entry takes a `.u64` parameter for each input, one for the output and one for the buffer of dims.
 * `PtxBuilder` of `@centella/backend-cuda/ptx` writes such texts. Tensors are stored as f32, i32, f16 or bf16; block types as ggml stores them, or as `recode` of `@centella/quant` returns them.
 */
export interface PtxKernel<P extends object = object> {
  launch(call: PtxCall<P>): {
    /** A whole module. */
    readonly ptx: string;
    readonly entry: string;
    /** Blocks along each axis. Whole clusters where the text says how large they are (`setCluster`): the launch needs no attribute for them. */
    readonly grid: readonly [number, number, number];
    readonly block: readonly [number, number, number];
    /** Dynamic shared memory in bytes (0). */
    readonly sharedBytes?: number;
    /** Tensor maps, which are the entry's last parameters, in the order of the builder's `maps` (none). */
    readonly maps?: readonly PtxMap[];
  };
}

/** A tensor map over a tensor of f16 or bf16, read as a matrix. `copyBox` copies boxes of it to shared memory, `storeBox` from there. */
export interface PtxMap {
  /** Name of the input (default: the output). */
  readonly input?: string;
  /** Elements of a row: a multiple of 8. */
  readonly columns: number;
  /** Rows that the tensor has in this call. Where a dim is smaller in a run, rows past it hold any values. */
  readonly rows: number;
  /** Rows of a box, up to 256. A box has 64 columns, and zeros where it leaves the matrix. */
  readonly boxRows: number;
}

declare module "@centella/core" {
  interface CustomKernels<P extends object> {
    /** The kernel for `@centella/backend-cuda`. */
    readonly ptx?: PtxKernel<P>;
  }
}
