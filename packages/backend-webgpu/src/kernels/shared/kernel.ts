import type { DimValues } from "@centella/core";
import type { Fusable, GpuCall } from "@centella/gpu-kernels";

/** An op call that a kernel is wanted for. Shapes may be symbolic; text may depend on ranks, dtypes and parameters. */
export interface KernelCall<P extends object = object> extends Omit<GpuCall, "bucket"> {
  readonly params: P;
}

/** What a binding of a kernel refers to. */
export type Resource =
  | { readonly kind: "input"; readonly index: number }
  | { readonly kind: "output" }
  /** A further result of a fused group. */
  | { readonly kind: "extraOutput"; readonly index: number }
  /** Memory that lives from one dispatch of an op call to the next, of this many bytes; other slots (default 0) are other memory. */
  | { readonly kind: "scratch"; readonly bytes: number; readonly slot?: number }
  /** Words that are part of the kernel. */
  | { readonly kind: "table"; readonly words: Uint32Array };

/** Element types of bindings in WGSL. */
export type ElementType = "f32" | "i32" | "u32" | "atomic<u32>";

/** A storage buffer as a kernel's text declares it. */
export interface Binding {
  readonly name: string;
  readonly resource: Resource;
  readonly access: "read" | "read_write";
  readonly element: ElementType;
}

/** Fields of a kernel's uniform block, 4 bytes each, in order. */
export interface Field {
  readonly name: string;
  readonly type: "u32" | "i32" | "f32";
}

/** What one run dispatches: workgroups in all (0 skips the dispatch) and the values of the uniform fields. */
export interface Dispatch {
  readonly groups: number;
  readonly values: Readonly<Record<string, number>>;
}

/** One dispatch of an op call: a whole WGSL module with entry point `main`, and how to launch it. */
export interface Kernel {
  readonly code: string;
  /** Binding i of group 0; the uniform block comes after them. */
  readonly bindings: readonly Binding[];
  readonly uniforms: readonly Field[];
  dispatch(dims: DimValues): Dispatch;
}

/** How an op is computed: dispatches in order. Pure. */
export interface KernelDefinition<P extends object = object> extends Fusable {
  /** The reason why there is no kernel for a call, beyond what the op itself refuses. */
  unsupported?(call: KernelCall<P>): string | undefined;
  build(call: KernelCall<P>): readonly Kernel[];
}
