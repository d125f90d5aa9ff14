import { type Dim, type DimValues, type DType, isQuantized, type Shape, type TensorSpec, UnsupportedError } from "@centella/core";
import { isBelow, product } from "@centella/gpu-kernels";
import type { BlockType } from "@centella/quant";
import { loadBlockWeights } from "../../ptx/blocks.ts";
import { PtxBuilder } from "../../ptx/builder.ts";
import type { B16, Elem, Extent, F32, Global, S32, U32 } from "../../ptx/types.ts";
import { isDecoded, residentDType } from "../../resident.ts";

/** What a kernel is generated for: one call of an op at one bucket of the program's symbolic dims. */
export interface KernelCall {
  /** Declared specs. */
  readonly inputs: readonly (TensorSpec | undefined)[];
  readonly output: TensorSpec;
  /** Place of each symbolic dim's value in the buffer of dims, by name. */
  readonly slots: ReadonlyMap<string, number>;
  /** Largest values that the variant serves: what grids are made for. Kernels guard by the values in the buffer. */
  readonly bucket: DimValues;
  /** What the first input's elements are computed by; only for kernels that say how they read it (`reads`). */
  readonly source?: Source;
  /** What becomes of each result before it is stored; only for kernels with `finishes`. */
  readonly finish?: Finish;
}

/** Elementwise calls that are fused before an op. */
export interface Source {
  /** Memory that `apply` reads, by the names that it uses. */
  readonly args: NamedArguments;
  /** The element of the op's first input at a place. */
  readonly apply: (scope: Scope, index: U32) => F32;
  /** Where the elements are kept once they are computed, if something reads them again. */
  readonly kept?: Argument;
}

/** Elementwise calls that are fused behind an op. */
export interface Finish {
  /** Memory that `apply` reads, by the names that it uses. */
  readonly args: NamedArguments;
  readonly apply: (scope: Scope, index: U32, value: F32) => F32;
}

/** Which memory a kernel parameter points to. */
export type Argument =
  | { readonly kind: "input"; readonly index: number }
  | { readonly kind: "output" }
  /** A further result of a fused group; see `FusedParams.others`. */
  | { readonly kind: "other"; readonly index: number }
  | { readonly kind: "dims" }
  /** Memory of the step alone, shared by its launches: `bytes` of it from byte `offset` (default 0) on. */
  | { readonly kind: "scratch"; readonly bytes: number; readonly offset?: number };

/** One kernel launch as plain data: what a driver needs besides addresses. */
export interface Launch {
  readonly ptx: string;
  readonly entry: string;
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  /** Dynamic shared memory; static shared memory is part of the text. */
  readonly sharedBytes: number;
  readonly args: readonly Argument[];
}

/** The kernels of one op. */
export interface Kernel<P extends object = object> {
  /** Why a call of this op cannot be served; undefined if it can. */
  readonly unsupported?: (inputs: readonly (TensorSpec | undefined)[], params: P, output: TensorSpec) => string | undefined;
  /** The launches of one call, in order. Pure. */
  readonly launches: (call: KernelCall, params: P) => readonly Launch[];
  /** Its launches store each result once, after what `KernelCall.finish` makes of it. */
  readonly finishes?: true;
  /** Its launches read each element of their first input once or several times, in the same thread, and take `KernelCall.source` for it. */
  readonly reads?: "once" | "again";
  /** An elementwise op on one element of each input, in registers of the tensors' dtype: what fused groups are made of. */
  readonly element?: (k: PtxBuilder, inputs: readonly (F32 | S32)[], params: P, dtype: DType) => F32 | S32;
}

/** Threads of a block of the kernels that have no reason to want another number. */
export const defaultThreads = 256;

/** What a kernel's body is written with. */
export interface Scope {
  readonly k: PtxBuilder;
  /** The extent of a dim: a number, or a register with the run's value. */
  extent(dim: Dim): Extent;
  extents(shape: Shape): readonly Extent[];
  /** Address of a named argument's memory. */
  pointer<E extends Elem>(name: string, elem: E): Global<E>;
}

/** Arguments of a kernel by the name that its text uses. */
export type NamedArguments = Readonly<Record<string, Argument>>;

export const output: Argument = { kind: "output" };

export function input(index: number): Argument {
  return { kind: "input", index };
}

/** Generates one launch of `blocks` blocks. Only symbolic dims that the call's specs name are read. */
export function launch(
  call: KernelCall,
  entry: string,
  { threads = defaultThreads, blocks, args }: { readonly threads?: number; readonly blocks: number; readonly args: NamedArguments },
  body: (scope: Scope) => void,
): Launch {
  const names = Object.keys(args);
  const symbolic = symbolicDims(call);
  const k = new PtxBuilder(entry, symbolic.length > 0 ? [...names, "dims"] : names, threads);
  const values = new Map<string, U32>();
  if (symbolic.length > 0) {
    const dims = k.pointer("dims", "u32");
    for (const name of symbolic) values.set(name, k.load("u32", dims, call.slots.get(name)!));
  }
  const extent = (dim: Dim): Extent => (typeof dim === "number" ? dim : values.get(dim.name)!);
  body({ k, extent, extents: (shape) => shape.map(extent), pointer: (name, elem) => k.pointer(name, elem) });
  return {
    ptx: k.text(),
    entry,
    grid: [Math.max(1, blocks), 1, 1],
    block: [threads, 1, 1],
    sharedBytes: 0,
    args: [...Object.values(args), ...(symbolic.length > 0 ? [{ kind: "dims" } as const] : [])],
  };
}

/** One thread per element: runs `body` with the flat index of each of `shape`'s elements. */
export function elementwise(
  call: KernelCall,
  entry: string,
  { shape, args }: { readonly shape: Shape; readonly args: NamedArguments },
  body: (scope: Scope, index: U32) => void,
): Launch {
  const blocks = Math.ceil(bucketElements(call, shape) / defaultThreads);
  return launch(call, entry, { blocks, args }, (scope) => {
    const { k } = scope;
    const index = k.mad(k.block(), defaultThreads, k.thread());
    k.if(isBelow(k, index, product(k, scope.extents(shape))), () => body(scope, index));
  });
}

/** A shape's extents at the bucket. */
export function bucketShape(call: KernelCall, shape: Shape): readonly number[] {
  return shape.map((dim) => (typeof dim === "number" ? dim : (call.bucket[dim.name] ?? dim.max)));
}

export function bucketElements(call: KernelCall, shape: Shape): number {
  return bucketShape(call, shape).reduce((a, b) => a * b, 1);
}

/** Reads element `index` of a float tensor or a block type in its resident form as f32. */
export function loadFloat(k: PtxBuilder, dtype: DType, base: Global<Elem>, index: Extent): F32 {
  if (isBlock(dtype)) return loadBlockWeights(k, dtype, base as Global<"b16">, index, 1)[0]!;
  if (floatElem(dtype) === "f32") return k.load("f32", k.at("f32", base as Global<"f32">, index));
  return widened(k, dtype, k.load("b16", k.at("b16", base as Global<"b16">, index)));
}

/** Reads four elements from `index` on, a multiple of 4 places after the start of the tensor's memory. */
export function loadFloatVector(k: PtxBuilder, dtype: DType, base: Global<Elem>, index: Extent): readonly F32[] {
  if (isBlock(dtype)) return loadBlockWeights(k, dtype, base as Global<"b16">, index, 4);
  if (floatElem(dtype) === "f32") return k.loadVector("f32", k.at("f32", base as Global<"f32">, index));
  return k.loadVector("b16", k.at("b16", base as Global<"b16">, index)).map((bits) => widened(k, dtype, bits));
}

function isBlock(dtype: DType): dtype is BlockType {
  return isQuantized(dtype) && !isDecoded(dtype);
}

function widened(k: PtxBuilder, dtype: DType, bits: B16): F32 {
  return dtype === "f16" ? k.halfToFloat(bits) : k.bfloatToFloat(bits);
}

/** Writes element `index` of a float tensor, rounding to f16 where that is its dtype. */
export function storeFloat(k: PtxBuilder, dtype: DType, base: Global<Elem>, index: Extent, value: F32): void {
  if (dtype === "f16") k.store("b16", k.at("b16", base as Global<"b16">, index), k.floatToHalf(value));
  else k.store("f32", k.at("f32", base as Global<"f32">, index), value);
}

/** The element that a float tensor of this dtype lies in memory as; blocks are read in pieces of 16 bits and less. */
export function floatElem(dtype: DType): "f32" | "b16" {
  return residentDType(dtype) === "f32" ? "f32" : "b16";
}

/** An extent that the kernel's text depends on. @throws {UnsupportedError} for a symbolic one; `unsupported` should have said so */
export function fixed(dim: Dim | undefined): number {
  if (typeof dim !== "number") throw new UnsupportedError("cuda", "this extent has to be a number");
  return dim;
}

export function isFixed(...dims: readonly (Dim | undefined)[]): boolean {
  return dims.every((dim) => typeof dim === "number");
}

/** Names of the symbolic dims of a call's specs, in order of appearance. */
function symbolicDims({ inputs, output: y }: KernelCall): readonly string[] {
  const names = [...inputs, y].flatMap((spec) => spec?.shape ?? []).flatMap((dim) => (typeof dim === "number" ? [] : [dim.name]));
  return [...new Set(names)];
}
