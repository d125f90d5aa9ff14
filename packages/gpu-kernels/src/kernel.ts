import type { Dim, DimValues, DType, OpName, ParamsOf, Shape, TensorSpec } from "@centella/core";
import type { InputsOf } from "@centella/core/backend";
import type { Emitter, F32, I32, NumberType, U32, Value } from "./emitter.ts";
import { asValue, type Extent, type PerExtent, plus, product } from "./extent.ts";

/** Memory that a step reads or writes, by the name that its text uses. */
export type GpuArgument =
  | { readonly kind: "input"; readonly index: number; readonly dtype: DType }
  | { readonly kind: "output"; readonly dtype: DType }
  /** A further result of a fused group. */
  | { readonly kind: "extraOutput"; readonly index: number; readonly dtype: DType }
  | GpuScratch
  /** Constant words. */
  | { readonly kind: "table"; readonly dtype: "u32"; readonly words: Uint32Array };

/** Temporary memory that the steps of a call share, with as many elements as the shape. */
export interface GpuScratch {
  readonly kind: "scratch";
  readonly dtype: "f32" | "i32" | "u32";
  readonly elements: Shape;
  /** Scratch that is in use at the same time: this one is stored after it. */
  readonly after?: GpuScratch;
}

/** Arguments by the names that a text uses. */
export type GpuArguments = Readonly<Record<string, GpuArgument>>;

/** Arguments of a step's body. */
export interface GpuScope {
  readonly k: Emitter;
  /** The extent of a dim in a run. */
  extent(dim: Dim): Extent;
  extents<const S extends Shape>(shape: S): PerExtent<S>;
  /** A parameter of the call, by a unique name. Calls that differ only in its value may share a text. */
  number(name: string, value: number): F32;
  /** A whole number of the call. Calls that differ only in it may share a text. */
  whole(value: number): Extent;
}

/** A part of an op call: one dispatch or launch. */
export type GpuStep =
  | {
      /** Runs a lane per element of `shape`, which returns the element or its bits; `to` names the argument that stores it. */
      readonly kind: "map";
      readonly name: string;
      readonly args: GpuArguments;
      readonly shape: Shape;
      readonly to: string;
      /** Whether the body reads arguments at its own index, outside of control flow: elements of neighbouring lanes can then be read at once. */
      readonly isElementwise?: true;
      readonly body: (scope: GpuScope, index: U32) => Value<NumberType>;
    }
  | {
      /** Runs a lane per index of `shape`; the body stores results itself. */
      readonly kind: "each";
      readonly name: string;
      readonly args: GpuArguments;
      readonly shape: Shape;
      readonly body: (scope: GpuScope, index: U32) => void;
    }
  | {
      /** Runs a lane per index of `shape`, which returns 16 bytes of the argument `to`. A lane may do so for several indices. */
      readonly kind: "pieces";
      readonly name: string;
      readonly args: GpuArguments;
      readonly shape: Shape;
      readonly to: string;
      readonly body: (scope: GpuScope, index: U32) => Piece;
    }
  | {
      /** Runs a group of lanes per index of `shape`. */
      readonly kind: "groups";
      readonly name: string;
      readonly args: GpuArguments;
      readonly shape: readonly GroupDim[];
      /** Default: the backend's number for groups that share a row. */
      readonly lanes?: number;
      /** Whether a lane has many values at a time: backends that share out registers give it more, and run fewer groups at once. */
      readonly hasManyValues?: true;
      readonly body: (scope: GpuScope, group: U32) => void;
    };

/** Tiles that cover the elements of a shape, `size` of these each. The last tile may have fewer. */
export interface Tiles {
  readonly of: Shape;
  readonly size: number;
}

/** Number of groups along an axis of a step: an extent, or the number of tiles. */
export type GroupDim = Dim | Tiles;

/** Four words of a result, and the number of 16-byte pieces before them. */
export interface Piece {
  readonly at: Extent;
  readonly words: readonly U32[];
}

/** Elementwise calls after an op, which its kernels apply to each result before they store it. */
export interface Epilogue {
  /** Memory that `apply` reads, by the names that it uses. */
  readonly args: GpuArguments;
  /** The element at `index`, of the op's result there; products of one tensor may have several results. */
  readonly apply: (scope: GpuScope, index: U32, results: readonly F32[]) => F32;
}

/** Elementwise calls before an op, which compute each element of its first input where its kernels read it. */
export interface Prologue {
  /** Memory that `apply` reads, by the names that it uses, and `kept` if the elements are also a result. */
  readonly args: GpuArguments;
  readonly apply: (scope: GpuScope, index: U32) => F32;
}

/** Specs of a call's inputs; undefined for optional ones that it leaves out. */
export type InputSpecs = readonly (TensorSpec | undefined)[];

/** An op call that steps are generated for. Shapes may be symbolic. */
export interface GpuCall<Inputs extends InputSpecs = InputSpecs> {
  readonly inputs: Inputs;
  readonly output: TensorSpec;
  /** Upper bounds of dims in the runs that the steps serve, if they are below the dims' maxima. */
  readonly bucket?: DimValues;
  /** Only for kernels with `epilogue`. */
  readonly epilogue?: Epilogue | undefined;
  /** Only for kernels with `prologue`. */
  readonly prologue?: Prologue | undefined;
}

/** How fused groups may use a kernel. */
export interface Fusable {
  /** Whether the steps store each result once, through the call's epilogue. */
  readonly epilogue?: true;
  /** Whether the steps read each element of the first input once, or again in the same lane, through the call's prologue. */
  readonly prologue?: "once" | "again";
}

/** GPU kernel of an op, written once for all GPU backends. Its functions are pure. */
export interface GpuKernel<P extends object = object, Inputs extends InputSpecs = InputSpecs> extends Fusable {
  /** The reason why there is no kernel for a call. */
  unsupported?(inputs: Inputs, params: P, output: TensorSpec): string | undefined;
  /** Checks the extents of a run. @throws {CentellaError} if the kernel cannot serve them */
  checkRun?(call: GpuCall<Inputs>, params: P, dims: DimValues): void;
  /** The steps of a call, in order. */
  steps(call: GpuCall<Inputs>, params: P): readonly GpuStep[];
  /** Body of an elementwise op, which fused groups are built from. */
  readonly element?: GpuElement;
}

/** The kernel of an op: its call has the op's inputs and parameters. */
export type GpuKernelOf<N extends OpName> = GpuKernel<ParamsOf<N>, InputsOf<N, TensorSpec>>;

/**
 * An elementwise op on one element of each of its inputs; `number` gives a numeric parameter by its name. Elements of f16 and bf16 are
 * f32 values that these types can represent.
 */
export interface GpuElement {
  /** Computes an element of the result, of dtype `dtype`. */
  of(k: Emitter, inputs: readonly F32[], number: (name: string) => F32, dtype: DType): F32;
  /** For ops that also take i32. */
  ofIntegers?(k: Emitter, inputs: readonly I32[]): I32;
  /** Dtypes of inputs and results in fused groups. Default: f32 and i32. */
  readonly dtypes?: readonly DType[];
}

/** The argument that is input `index` of a call. */
export function input({ inputs }: GpuCall, index: number): GpuArgument {
  const spec = inputs[index];
  if (spec === undefined) throw new RangeError(`expected input ${index} of a call, got none; this is a bug, please report it`);
  return { kind: "input", index, dtype: spec.dtype };
}

export function output({ output: { dtype } }: GpuCall): GpuArgument {
  return { kind: "output", dtype };
}

/** Largest number of elements of a shape that the steps of a call serve. */
export function mostElements(shape: Shape, bucket: DimValues = {}): number {
  return shape.reduce<number>((count, dim) => count * (typeof dim === "number" ? dim : (bucket[dim.name] ?? dim.max)), 1);
}

/** Number of groups of a step where `extentOf` gives the extent of each dim: of a run, or the largest one of a bucket. */
export function groupCount(shape: readonly GroupDim[], extentOf: (dim: Dim) => number): number {
  const elements = (axes: Shape): number => axes.reduce<number>((count, dim) => count * extentOf(dim), 1);
  return shape.reduce<number>((count, axis) => count * (isTiles(axis) ? Math.ceil(elements(axis.of) / axis.size) : extentOf(axis)), 1);
}

/** Number of groups along an axis of a step in a run, in the step's text. */
export function groupExtent(scope: GpuScope, axis: GroupDim): Extent {
  if (!isTiles(axis)) return scope.extent(axis);
  const { k } = scope;
  return k.quotient(asValue(k, plus(k, product(k, scope.extents(axis.of)), axis.size - 1)), axis.size);
}

function isTiles(axis: GroupDim): axis is Tiles {
  return typeof axis === "object" && "of" in axis;
}

/** The arguments that {@link firstInput} takes. */
export function firstArgs(call: GpuCall): GpuArguments {
  return call.prologue === undefined ? { x: input(call, 0) } : call.prologue.args;
}

/** The arguments that {@link storeResult} takes. */
export function resultArgs(call: GpuCall): GpuArguments {
  return { y: output(call), ...call.epilogue?.args };
}

/** The arguments that `first` of {@link firstInput} takes besides those of {@link firstArgs}, in a step without the result. */
export function keptArgs(call: GpuCall): GpuArguments {
  return call.prologue === undefined || "kept" in call.prologue.args ? {} : { y: output(call) };
}

/** The arguments that `again` of {@link firstInput} takes besides the result, in a step that does not call `first`. */
export function againArgs(call: GpuCall): GpuArguments {
  if (call.prologue === undefined) return { x: input(call, 0) };
  const { kept } = call.prologue.args;
  return kept === undefined ? {} : { kept };
}

/** The name of a step with the call's prologue or epilogue. */
export function fusedName(name: string, ...fused: readonly (Epilogue | Prologue | undefined)[]): string {
  const parts = [name, fused.every((each) => each === undefined) ? "" : "fused"];
  return parts.filter((part) => part !== "").join("_");
}

/**
 * An op's first input: `first` reads an element, `again` one that the same lane or an earlier step has read. For that, a prologue's elements are kept
 * in the extra output if they are also a result, otherwise in the op's own output until its result is stored.
 */
export function firstInput(
  scope: GpuScope,
  { prologue }: GpuCall,
  reads: "once" | "again",
): { first(index: Extent): F32; again(index: Extent): F32 } {
  const { k } = scope;
  if (prologue === undefined) {
    const load = (index: Extent): F32 => k.load("x", index);
    return { first: load, again: load };
  }
  const kept = "kept" in prologue.args ? "kept" : "y";
  const isKept = kept === "kept" || reads === "again";
  return {
    first(index) {
      const value = prologue.apply(scope, asValue(k, index));
      if (isKept) k.store(kept, index, value);
      return value;
    },
    again: (index) => k.load(kept, index),
  };
}

/** Writes an element of an f32 result, after the call's epilogue. */
export function storeResult(scope: GpuScope, { epilogue }: GpuCall, index: Extent, value: F32): void {
  const { k } = scope;
  k.store("y", index, epilogue === undefined ? value : epilogue.apply(scope, asValue(k, index), [value]));
}
