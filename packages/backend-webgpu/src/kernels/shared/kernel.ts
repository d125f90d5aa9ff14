import type { DimValues, OpName, ParamsOf, TensorSpec } from "@centella/core";
import type { InputsOf } from "@centella/core/backend";
import type { BackendKernel, GpuCall, InputSpecs } from "@centella/gpu-kernels";

/** An op call that dispatches are generated for. Shapes may be symbolic; text may depend on ranks, dtypes and parameters. */
export type KernelCall<Inputs extends InputSpecs = InputSpecs> = Omit<GpuCall<Inputs>, "bucket">;

/** The memory that a binding refers to. */
export type Resource =
  | { readonly kind: "input"; readonly index: number }
  | { readonly kind: "output" }
  /** A further result of a fused group. */
  | { readonly kind: "extraOutput"; readonly index: number }
  /** Memory that the dispatches of an op call share. Each slot (default 0) is separate memory. */
  | { readonly kind: "scratch"; readonly bytes: number; readonly slot?: number }
  /** Constant words. */
  | { readonly kind: "table"; readonly words: Uint32Array };

/** Element types of bindings in WGSL. */
export type ElementType = "f32" | "i32" | "u32" | "atomic<u32>" | "vec2u" | "vec4f" | "vec4i" | "vec4u";

/** A storage buffer as a dispatch's text declares it. */
export interface Binding {
  readonly name: string;
  readonly resource: Resource;
  readonly access: "read" | "read_write";
  readonly element: ElementType;
}

/** A field of a uniform block, 4 bytes. */
export interface Field {
  readonly name: string;
  readonly type: "u32" | "i32" | "f32";
}

/** Size of a dispatch in one run. */
export interface DispatchSize {
  /** Number of workgroups; 0 skips the dispatch. */
  readonly groups: number;
  /** Values of the uniform fields, by name. */
  readonly values: Readonly<Record<string, number>>;
}

/** One dispatch of an op call: a whole WGSL module with entry point `main`, and how to launch it. */
export interface Dispatch {
  readonly code: string;
  /** Binding i of group 0; the uniform block comes after them. */
  readonly bindings: readonly Binding[];
  readonly uniforms: readonly Field[];
  sizeIn(dims: DimValues): DispatchSize;
  /** Other ways to compute the same, of which one may be faster on a device. */
  readonly forms?: () => DispatchForms;
}

/** Forms of a dispatch. All have its bindings and uniform fields, and run for the same extents. */
export interface DispatchForms {
  /** Names the kernel, its mode and its shape. */
  readonly work: string;
  /** Name of the dispatch's own form. */
  readonly own: string;
  /** Names of other forms that may be faster. */
  readonly others: readonly string[];
  /** Generates a form: its own, one of the others, or a further one that the device can run. Undefined for other names. */
  form(name: string): Pick<Dispatch, "code" | "sizeIn"> | undefined;
}

/** The kernel of op `N`: its call has the inputs and parameters of the op. */
export type KernelOf<N extends OpName> = Kernel<ParamsOf<N>, InputsOf<N, TensorSpec>>;

/** How an op is computed on WebGPU. Pure. */
export interface Kernel<P extends object = object, Inputs extends InputSpecs = InputSpecs> extends BackendKernel {
  /** The reason why there is no kernel for a call, beyond what the op itself refuses. */
  unsupported?(inputs: Inputs, params: P, output: TensorSpec): string | undefined;
  /** The dispatches of a call, in order. */
  dispatches(call: KernelCall<Inputs>, params: P): readonly Dispatch[];
}
