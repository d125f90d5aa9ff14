import type { Dim, DType, Shape, TensorSpec } from "@centella/core";
import type { Emitter, F32, U32 } from "./emitter.ts";
import type { Extent } from "./extent.ts";

/** Memory that a step reads or writes, by the name that its text uses. */
export type GpuArgument =
  | { readonly kind: "input"; readonly index: number; readonly dtype: DType }
  | { readonly kind: "output"; readonly dtype: DType }
  /** Memory of the call alone, one for all of its steps, of so many elements. */
  | { readonly kind: "scratch"; readonly dtype: "f32" | "i32" | "u32"; readonly elements: Shape };

export type GpuArguments = Readonly<Record<string, GpuArgument>>;

/** What a step's body is written with. */
export interface GpuScope {
  readonly k: Emitter;
  /** The extent of a dim in a run. */
  extent(dim: Dim): Extent;
  extents(shape: Shape): readonly Extent[];
  /** A parameter of the call: texts of calls that differ in it alone may be one. */
  number(value: number): F32;
  whole(value: number): Extent;
}

/** One launch of an op call. */
export type GpuStep =
  | {
      /** A lane for each element of `shape`, which returns the element's bits in its dtype; `to` names the argument that they go to. */
      readonly kind: "map";
      readonly name: string;
      readonly args: GpuArguments;
      readonly shape: Shape;
      readonly to: string;
      readonly body: (scope: GpuScope, index: U32) => U32;
    }
  | {
      /** A lane for each index of `shape`, which stores what it likes. */
      readonly kind: "each";
      readonly name: string;
      readonly args: GpuArguments;
      readonly shape: Shape;
      readonly body: (scope: GpuScope, index: U32) => void;
    }
  | {
      /** A group of lanes for each index of `shape`. */
      readonly kind: "groups";
      readonly name: string;
      readonly args: GpuArguments;
      readonly shape: Shape;
      readonly lanes: number;
      readonly body: (scope: GpuScope, group: U32) => void;
    };

/** An op call that steps are wanted for. Shapes may be symbolic. */
export interface GpuCall {
  readonly inputs: readonly (TensorSpec | undefined)[];
  readonly output: TensorSpec;
}

/** How an op is computed on GPUs, spelled once for all of them. Pure. */
export interface GpuKernel<P extends object = object> {
  /** Why there is no kernel for a call, in words. */
  readonly unsupported?: (call: GpuCall, params: P) => string | undefined;
  readonly steps: (call: GpuCall, params: P) => readonly GpuStep[];
  /** Of elementwise ops on f32: what fused groups are made of. */
  readonly element?: GpuElement;
}

/** An elementwise op on one element of each of its `arity` inputs; `number` gives a numeric parameter by its name. */
export interface GpuElement {
  readonly arity: 1 | 2 | 3;
  readonly of: (k: Emitter, inputs: readonly F32[], number: (name: string) => F32) => F32;
}

/** The argument that is input `index` of a call. */
export function input({ inputs }: GpuCall, index: number): GpuArgument {
  return { kind: "input", index, dtype: inputs[index]!.dtype };
}

export function output({ output: { dtype } }: GpuCall): GpuArgument {
  return { kind: "output", dtype };
}

/** Number of elements of a shape whose extents are at their maxima. */
export function mostElements(shape: Shape): number {
  return shape.reduce<number>((count, dim) => count * (typeof dim === "number" ? dim : dim.max), 1);
}
