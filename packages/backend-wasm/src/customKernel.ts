import type { CustomCall } from "@centella/core/backend";

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

declare module "@centella/core" {
  interface CustomKernels<P extends object> {
    /** The kernel for `@centella/backend-wasm`. */
    readonly wasm?: WasmKernel<P>;
  }
}
