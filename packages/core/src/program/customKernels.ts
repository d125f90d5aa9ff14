import type { ConcreteSpec, TensorSpec } from "../spec.ts";

/** One call of a custom op in one run, every extent a number. */
export interface CustomCall<P extends object = object> {
  readonly inputs: readonly ConcreteSpec[];
  readonly params: P;
  readonly output: ConcreteSpec;
}

/**
 * One WebGPU dispatch. The text sees its tensors as storage arrays named as the op's inputs and `y`, `array<i32>` for i32 and
 * `array<f32>` for f32; of a float input of any storage (f16, bf16, block types) `load_<name>(i)` is element `i` as f32. An
 * output is f32 or i32.
 */
export interface WgslKernel<P extends object = object> {
  /** Statements that see `group` (the index of the workgroup), `lane` (the index in it) and `p`, whose fields are the uniforms. */
  readonly body: string;
  /** Functions and `var<workgroup>` declarations that the body uses. */
  readonly declarations?: string;
  /** Invocations of a workgroup (64). */
  readonly lanes?: number;
  /** Numbers that {@link WgslKernel.dispatch} gives, by name. */
  readonly uniforms?: Readonly<Record<string, "u32" | "i32" | "f32">>;
  /** How many workgroups a run takes (0 skips the dispatch), and the values of the uniforms. */
  dispatch(call: CustomCall<P>): { readonly groups: number; readonly values?: Readonly<Record<string, number>> };
}

/**
 * A WASM function over tensors in the backend's memory, in their stored form (no block types), computed by one thread. A call
 * cannot be interrupted: split what takes long.
 */
export interface WasmKernel<P extends object = object> {
  /**
   * A module in binary form that imports `env.memory` (up to 65,536 pages; shared if told so), and exports a function `run` that
   * takes an i32 address for each input, one for the output, then {@link WasmKernel.args}. Memory below a tensor's address is
   * not its own; up to 15 bytes after its end may be read but not written.
   */
  module(memory: { readonly shared: boolean }): Uint8Array<ArrayBuffer>;
  /** What `run` takes after the addresses: numbers in the order of its parameters. */
  args?(call: CustomCall<P>): readonly number[];
}

/** What a PTX kernel is generated for: dims at the largest value that the launch must serve; see {@link PtxKernel}. */
export interface PtxCall<P extends object = object> extends CustomCall<P> {
  /** Byte offset of a symbolic dim's u32 value, in this run, in the buffer of dims. */
  dimOffset(name: string): number;
  /** The specs as recorded, symbolic dims and all. */
  readonly symbolic: { readonly inputs: readonly TensorSpec[]; readonly output: TensorSpec };
}

/**
 * One CUDA launch. The entry takes a `.u64` parameter for each input, one for the output and one for the buffer of dims.
 * Tensors are stored as f32, i32, f16 or bf16; block types as f32.
 */
export interface PtxKernel<P extends object = object> {
  launch(call: PtxCall<P>): {
    /** A whole module. */
    readonly ptx: string;
    readonly entry: string;
    readonly grid: readonly [number, number, number];
    readonly block: readonly [number, number, number];
    /** Dynamic shared memory in bytes (0). */
    readonly sharedBytes?: number;
  };
}

/** Kernels of an op that backends do not know. One that is absent makes the op unsupported on that backend. */
export interface CustomKernels<P extends object = object> {
  readonly wasm?: WasmKernel<P>;
  readonly wgsl?: WgslKernel<P>;
  readonly ptx?: PtxKernel<P>;
}
