import {
  type Dim,
  type DimValues,
  type DType,
  type OpName,
  type ParamsOf,
  type Shape,
  type TensorSpec,
  UnsupportedError,
} from "@centella/core";
import { elementAt, entryOf, type InputsOf, mapTuple } from "@centella/core/backend";
import {
  type BackendKernel,
  type Epilogue,
  type Extent,
  type GpuArgument,
  type GpuArguments,
  type GpuCall,
  type GpuScope,
  type GpuScratch,
  type InputSpecs,
  mostElements,
  type U32,
} from "@centella/gpu-kernels";
import type { TensorMap } from "../../device/driver.ts";
import type { KernelSource } from "../../device/modules.ts";
import { PtxEmitter } from "../../ptx/emitter.ts";
import type { Elem, Global } from "../../ptx/types.ts";
import type { UnitMatrix } from "../../weights/unitFormat.ts";
import type { Gpu } from "./gpu.ts";
import { type CallTexts, formKey, type KernelText, type TextForm } from "./texts.ts";

/** The call that launches are generated for: an op at one bucket of the program's symbolic dims. */
export interface KernelCall<Inputs extends InputSpecs = InputSpecs> extends GpuCall<Inputs> {
  /** Place of each symbolic dim's value in the buffer of dims, by name. */
  readonly slots: ReadonlyMap<string, number>;
  /** Largest values that the variant serves; grids are sized for them. Launches guard by the values in the buffer. */
  readonly bucket: DimValues;
  readonly gpu: Gpu;
  /** The form of input `index`, if it is a weight in units. */
  unitsOf(index: number): UnitMatrix | undefined;
  /** Whether input `index` is there before a run's first launch, and no launch writes it. */
  isGiven(index: number): boolean;
  /** Texts that this call already has at other buckets. Default: each text is written. */
  readonly texts?: CallTexts;
}

/** Which memory a kernel parameter points to. The dtype of an input or output is by default that of the call's tensor. */
export type Argument =
  /** Constant words in the module: not a parameter. */
  | { readonly kind: "table"; readonly words: Uint32Array }
  | { readonly kind: "input"; readonly index: number; readonly dtype?: DType }
  | { readonly kind: "output"; readonly dtype?: DType }
  /** A further result of a fused group. */
  | { readonly kind: "extraOutput"; readonly index: number; readonly dtype?: DType }
  | { readonly kind: "dims" }
  /** Memory of the step alone, shared by its launches: `bytes` of it from byte `offset` (default 0) on, by default of f32. */
  | { readonly kind: "scratch"; readonly bytes: number; readonly offset?: number; readonly dtype?: DType };

/** An argument that a launch passes. */
export type Parameter = Exclude<Argument, { readonly kind: "table" }>;

/** One kernel launch as plain data: what a driver needs besides addresses. */
export interface Launch extends KernelSource {
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  /** Whether it may start before the launches before it are over: its text waits for them. */
  readonly isDependent: boolean;
  /** Whether it may read what it or a launch of the same step writes. */
  readonly readsOutputs: boolean;
  readonly args: readonly Parameter[];
  /** Parameters after the arguments. */
  readonly maps: readonly ArgumentMap[];
}

/** A tensor map over the memory of argument number `argument`. */
export type ArgumentMap = Omit<TensorMap, "memory"> & { readonly argument: number };

/** The kernel of op `N`: its call has the inputs and parameters of the op. */
export type KernelOf<N extends OpName> = Kernel<ParamsOf<N>, InputsOf<N, TensorSpec>>;

/** How an op is computed on CUDA. Pure. */
export interface Kernel<P extends object = object, Inputs extends InputSpecs = InputSpecs> extends BackendKernel {
  /** The reason why there is no kernel for a call, beyond what the op itself refuses. */
  unsupported?(inputs: Inputs, params: P, output: TensorSpec): string | undefined;
  /** The launches of a call, in order. */
  launches(call: KernelCall<Inputs>, params: P): readonly Launch[];
}

/** Most blocks per multiprocessor of a launch that lets the next one start early. */
const maxEarlyBlocks = 2;

/** Default number of threads of a block. */
export const defaultThreads = 256;

/** Arguments of a kernel's body. */
export interface Scope extends GpuScope {
  readonly k: PtxEmitter;
  /** Address of a named argument's memory. */
  pointer<E extends Elem>(name: string, elem: E): Global<E>;
}

/** Arguments of a kernel by the name that its text uses. */
export type NamedArguments = Readonly<Record<string, Argument>>;

export const output: Parameter = { kind: "output" };

export function input(index: number): Parameter {
  return { kind: "input", index };
}

/** Bytes that a piece of scratch memory occupies. */
export function alignedBytes(bytes: number): number {
  return Math.ceil(bytes / 256) * 256;
}

/** Returns the CUDA form of a shared kernel's arguments. */
export function argumentsOf({ bucket }: KernelCall, args: GpuArguments): NamedArguments {
  return Object.fromEntries(Object.entries(args).map(([name, argument]) => [name, argumentOf(argument, bucket)]));
}

function argumentOf(argument: GpuArgument, bucket: DimValues): Argument {
  if (argument.kind !== "scratch") return argument;
  const { elements, dtype, after } = argument;
  return { kind: "scratch", bytes: 4 * mostElements(elements, bucket), dtype, ...(after && { offset: endOf(after, bucket) }) };
}

/** Offset in bytes at which scratch after this one may begin: a multiple of 256. */
function endOf({ elements, after }: GpuScratch, bucket: DimValues): number {
  const offset = after === undefined ? 0 : endOf(after, bucket);
  return offset + alignedBytes(4 * mostElements(elements, bucket));
}

/** The arguments that an epilogue reads. */
export function epilogueArgs(call: KernelCall, epilogue: Epilogue | undefined): NamedArguments {
  return epilogue === undefined ? {} : argumentsOf(call, epilogue.args);
}

interface LaunchOptions {
  readonly threads?: number;
  readonly blocks: number;
  readonly args: NamedArguments;
  /**
   * Whether the body waits for earlier launches itself, with {@link waitForEarlier}. Until then it may read only dims, weights and given inputs. By default
   * the text waits before it does anything else.
   */
  readonly waitsInBody?: boolean;
  /** Whether the body lets the next launch start, with what it is given for that. By default the text does so before anything else. */
  readonly startsNextInBody?: boolean;
  /**
   * All of what the text depends on that follows from the bucket, besides the names of its arguments and the number of its threads. Launches of a call that
   * agree in these share a text. Default: the text is written for each bucket.
   */
  readonly form?: TextForm;
  /** See {@link KernelSource.isWhole}. */
  readonly isWhole?: boolean;
  /** Tensor maps over the memory of arguments, by the names that the text uses. */
  readonly maps?: Readonly<Record<string, Omit<TensorMap, "memory"> & { readonly of: string }>>;
}

/** Waits for earlier launches in a body that does so itself. All threads must come here. */
export function waitForEarlier({ k }: Scope, { gpu }: KernelCall): void {
  if (gpu.dependentLaunch) k.waitForEarlierLaunches();
}

/** Writes a text. `startNext` lets the next launch start where it may: as soon as all blocks have come there or ended. */
type Body = (scope: Scope, startNext: () => void) => void;

/** Generates one launch of `blocks` blocks. Only symbolic dims that the call's specs name are read. */
export function launch(call: KernelCall, entry: string, options: LaunchOptions, body: Body): Launch {
  const { threads = defaultThreads, blocks, args, form, maps = {}, isWhole = false } = options;
  const symbolic = symbolicDims([...call.inputs, call.output]);
  const all: NamedArguments = symbolic.length > 0 ? { ...args, dims: { kind: "dims" } } : args;
  const parameters = Object.entries(all).flatMap(([name, each]) => (each.kind === "table" ? [] : [[name, each] as const]));
  const { dependentLaunch, multiprocessors } = call.gpu;
  // The next launch would take multiprocessors from blocks that do not fit at once.
  const isEarly = dependentLaunch && blocks <= multiprocessors * maxEarlyBlocks;
  const write = (): KernelText => writeText(call, entry, { ...options, threads, all, symbolic, isEarly }, body);
  const isKept = form !== undefined && call.texts !== undefined;
  const names = (): string => parameters.map(([name, each]) => `${name} ${placeKey(call, each)}`).join();
  const text = isKept ? call.texts.textOf(`${entry} ${threads} ${isEarly} ${names()} ${formKey(form)}`, write) : write();
  return {
    ptx: text.ptx,
    entry,
    grid: [Math.max(1, blocks), 1, 1],
    block: [threads, 1, 1],
    sharedBytes: text.sharedBytes,
    ...(isWhole && { isWhole }),
    isDependent: dependentLaunch,
    readsOutputs: text.readsOutputs,
    args: parameters.map(([, each]) => each),
    maps: Object.values(maps).map(({ of, ...map }) => ({ ...map, argument: parameters.findIndex(([name]) => name === of) })),
  };
}

/** A parameter as a part of keys of texts, which do not depend on places in scratch memory. */
function placeKey(call: KernelCall, parameter: Parameter): string {
  const index = parameter.kind === "input" || parameter.kind === "extraOutput" ? parameter.index : "";
  return `${parameter.kind}${index} ${dtypeOf(call, parameter)}`;
}

interface TextOptions extends LaunchOptions {
  readonly threads: number;
  /** The arguments with that of dims. */
  readonly all: NamedArguments;
  /** Names of the dims that the text reads. */
  readonly symbolic: readonly string[];
  /** Whether the next launch may start at once. */
  readonly isEarly: boolean;
}

function writeText(
  call: KernelCall,
  entry: string,
  { threads, all, symbolic, isEarly, waitsInBody = false, startsNextInBody = false, maps = {} }: TextOptions,
  body: Body,
): KernelText {
  const tables = Object.entries(all).flatMap(([name, each]) => (each.kind === "table" ? [[name, each.words] as const] : []));
  const parameters = Object.entries(all).flatMap(([name, each]) => (each.kind === "table" ? [] : [[name, each] as const]));
  const dtypes = Object.fromEntries(parameters.map(([name, each]) => [name, dtypeOf(call, each)]));
  const units = Object.fromEntries(parameters.map(([name, each]) => [name, each.kind === "input" ? call.unitsOf(each.index) : undefined]));
  const k = new PtxEmitter(entry, dtypes, threads, {
    tables: Object.fromEntries(tables),
    target: call.gpu.target,
    units,
    maps: Object.keys(maps),
  });
  const startNext = (): void => {
    if (isEarly) k.launchDependents();
  };
  if (!startsNextInBody) startNext();
  const values = new Map<string, U32>();
  if (symbolic.length > 0) {
    const dims = k.pointer("dims", "u32");
    for (const name of symbolic) values.set(name, k.ld("u32", dims, entryOf(call.slots, name)));
  }
  // No launch writes dims: they are read meanwhile.
  if (call.gpu.dependentLaunch && !waitsInBody) k.waitForEarlierLaunches();
  const extent = (dim: Dim): Extent => (typeof dim === "number" ? dim : entryOf(values, dim.name));
  const scope: Scope = {
    k,
    extent,
    extents: (shape) => mapTuple(shape, extent),
    number: (_name, value) => k.constant("f32", value),
    whole: (value) => value,
    pointer: (name, elem) => k.pointer(name, elem),
  };
  body(scope, startNext);
  const readsOutputs = parameters.some(([name, { kind }]) => (kind === "output" || kind === "extraOutput") && k.read.has(name));
  return { ptx: k.text(), sharedBytes: k.dynamicSharedBytes, readsOutputs };
}

function dtypeOf({ inputs, output: y }: KernelCall, argument: Parameter): DType {
  switch (argument.kind) {
    case "input":
      return argument.dtype ?? elementAt(inputs, argument.index).dtype;
    case "output":
      return argument.dtype ?? y.dtype;
    case "dims":
      return "u32";
    default:
      return argument.dtype ?? "f32";
  }
}

/** A shape's extents at the bucket. */
export function bucketShape(call: KernelCall, shape: Shape): readonly number[] {
  return shape.map((dim) => (typeof dim === "number" ? dim : (call.bucket[dim.name] ?? dim.max)));
}

export function bucketElements(call: KernelCall, shape: Shape): number {
  return mostElements(shape, call.bucket);
}

/** An extent that the kernel's text depends on. @throws {UnsupportedError} for a symbolic one; `unsupported` should have said so */
export function fixed(dim: Dim | undefined): number {
  if (typeof dim !== "number") throw new UnsupportedError("cuda", "this extent has to be a number");
  return dim;
}

export function isFixed(...dims: readonly (Dim | undefined)[]): boolean {
  return dims.every((dim) => typeof dim === "number");
}

/** Names of the symbolic dims of specs, in order of appearance. */
export function symbolicDims(specs: InputSpecs): readonly string[] {
  const names = specs.flatMap((spec) => spec?.shape ?? []).flatMap((dim) => (typeof dim === "number" ? [] : [dim.name]));
  return [...new Set(names)];
}
