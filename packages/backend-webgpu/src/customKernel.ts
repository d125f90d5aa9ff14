import type { CustomCall } from "@centella/core/backend";

/**
 * One WebGPU dispatch. The text sees its tensors as storage arrays named as the op's inputs and `y`, `array<i32>` for i32 and
 * `array<f32>` for f32. For a float input of any dtype (f16, bf16, block types), `load_<name>(i)` returns element `i` as f32. An
 * output is f32 or i32.
 */
export interface WgslKernel<P extends object = object> {
  /** Statements that see `group` (the index of the workgroup), `lane` (the index in it) and `p`, whose fields are the uniforms. */
  readonly body: string;
  /** Functions and `var<workgroup>` declarations that the body uses. */
  readonly declarations?: string;
  /** Invocations of a workgroup (64): at most 256 on every device, more where `maxComputeInvocationsPerWorkgroup` is larger. */
  readonly lanes?: number;
  /** Types of the numbers that {@link WgslKernel.dispatch} returns, by name. */
  readonly uniforms?: Readonly<Record<string, "u32" | "i32" | "f32">>;
  /** How many workgroups a run takes (0 skips the dispatch), and the values of the uniforms. */
  dispatch(call: CustomCall<P>): { readonly groups: number; readonly values?: Readonly<Record<string, number>> };
}

declare module "@centella/core" {
  interface CustomKernels<P extends object> {
    /** The kernel for `@centella/backend-webgpu`. */
    readonly wgsl?: WgslKernel<P>;
  }
}
