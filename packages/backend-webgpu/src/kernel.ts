import type { DimValues, TensorSpec } from "@centella/core";

/** An op call that a kernel is wanted for. Shapes may be symbolic; text may depend on ranks, dtypes and parameters. */
export interface KernelCall<P extends object = object> {
  readonly inputs: readonly (TensorSpec | undefined)[];
  readonly params: P;
  readonly output: TensorSpec;
  /** What becomes of each result before it is stored; only for definitions with `finishes`. */
  readonly finish?: Finish | undefined;
  /** What the op's first input is computed by, element by element; only for definitions that say how they read it (`reads`). */
  readonly prologue?: Prologue | undefined;
}

/**
 * Calls that are fused before an op: a function `load(i: u32) -> f32` in place of the elements of the op's first input and, where they
 * are kept, `again(i: u32) -> f32` of those that the same lane has loaded.
 */
export interface Prologue {
  /** Of the tensors that it reads, beside the op's own, and of where elements are kept, unless that is the op's result `y`. */
  readonly bindings: readonly Binding[];
  readonly uniforms: Readonly<Record<string, Field["type"]>>;
  /** Functions, block by block. */
  readonly declarations: readonly string[];
  values(dims: DimValues): Readonly<Record<string, number>>;
}

/** Calls that are fused behind an op: a function `finish(i: u32, result: f32) -> f32` of a result and its place. */
export interface Finish {
  /** Of the tensors that it reads, beside the op's own. */
  readonly bindings: readonly Binding[];
  readonly uniforms: Readonly<Record<string, Field["type"]>>;
  /** Functions, block by block: those that the kernel has itself are not declared again. The last one is `finish`. */
  readonly declarations: readonly string[];
  values(dims: DimValues): Readonly<Record<string, number>>;
}

/** What a binding of a kernel refers to. */
export type Resource =
  | { readonly kind: "input"; readonly index: number }
  | { readonly kind: "output" }
  /** A further result of a fused group; see `FusedParams.others`. */
  | { readonly kind: "other"; readonly index: number }
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

/** An elementwise op as a function of one element of each input: what fused groups are made of. */
export interface ElementForm {
  /** Names of the function's arguments, in the order of the op's inputs. */
  readonly arguments: readonly string[];
  /** Its body. Numeric parameters of the call are `p.<name>`. */
  readonly body: string;
  /** Functions that the body calls, block by block: blocks of several forms in one kernel are declared once. */
  readonly declarations?: readonly string[];
  readonly parameters?: readonly string[];
}

/** How an op is computed: dispatches in order. Pure. */
export interface KernelDefinition<P extends object = object> {
  readonly element?: ElementForm;
  /** Its kernels store each result once, by `store(i, value)`, so that elementwise calls can be fused behind it. */
  readonly finishes?: true;
  /**
   * Its kernels read each element of their first input once, by `load(i)`, or also several times, by `again(i)` in the same lane, so that
   * elementwise calls can be fused before it.
   */
  readonly reads?: "once" | "again";
  /** The reason in words why there is no kernel for a call, beyond what the op itself refuses. */
  unsupported?(call: KernelCall<P>): string | undefined;
  build(call: KernelCall<P>): readonly Kernel[];
}
