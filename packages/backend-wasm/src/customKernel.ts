import type { CustomCall } from "@centella/core/backend";

/**
 * A WASM function over tensors in the backend's memory, in their stored form (no block types), computed by one thread.
 * A call cannot be interrupted, so split long work.
 */
export interface WasmKernel<P extends object = object> {
  /**
   * Returns a module in binary form that imports `env.memory` (up to 65,536 pages; shared if `shared` is set) and
   * exports a function `run`. `run` takes an i32 address for each input, one for the output, then
   * {@link WasmKernel.args}. Memory before a tensor's address belongs to others. Up to 15 bytes after its end may be read
   * but not written.
   */
  module(memory: { readonly shared: boolean }): Uint8Array<ArrayBuffer>;
  /** Returns the parameters of `run` after the addresses, in order. */
  args?(call: CustomCall<P>): readonly number[];
}

declare module "@centella/core" {
  interface CustomKernels<P extends object> {
    /** The kernel for `@centella/backend-wasm`. */
    readonly wasm?: WasmKernel<P>;
  }
}
