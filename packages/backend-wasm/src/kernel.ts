import type { ConcreteSpec, OpName, ParamsOf, TensorSpec } from "@centella/core";
import type { FusedParams, Operand, Ops } from "@centella/core/backend";
import type { ModuleBuilder } from "./emit/index.ts";
import type { Interleaving } from "./formats/interleaving.ts";
import type { Heap } from "./memory/heap.ts";
import type { Target } from "./target.ts";

/**
 * An emitted function. Addresses and counts are plain numbers; those from 2^31 wrap to the same 32 bits. While a step list is written
 * a call is recorded instead of made.
 */
export type Emitted = (...args: number[]) => number;

/** Emitted functions by name. */
export type Exports = (name: string) => Emitted;

/** What a step sees of one run. */
export interface Run {
  /** Address of an operand's first byte. */
  address(operand: Operand): number;
  /** Extents of an operand in this run. */
  shape(operand: Operand): readonly number[];
  /** Address of the plan's scratch memory, in which every step has what it reserved. */
  readonly scratch: number;
}

/** One call of an emitted function. */
export interface Call {
  readonly fn: Emitted;
  readonly args: readonly number[];
  /** Calls that the same thread makes at once afterwards, while what this one wrote is in its cache. */
  readonly chained?: readonly Call[];
}

/**
 * Calls of a function whose last parameters are `begin` and `end`, for all parts of `total` units, `grain` units in each. `args` are
 * the parameters before these two.
 */
export interface Range extends Call {
  readonly total: number;
  readonly grain: number;
}

/**
 * What a step yields: work for all threads to share, of which the parts may run at the same time and in any order, or nothing, which is
 * a point where a step that runs on the caller's thread may be paused. What comes later sees what came before as done.
 */
export type Stage = undefined | Range | readonly Call[];

/**
 * Work of a step that looks at memory, which itself looks at none: it is known only now, and threads share it like that of a list.
 */
export type DeferredStages = () => Iterable<Stage>;

/**
 * One step. It makes calls of emitted functions, and yields those that threads can share. Where its kernel looks at no memory these are
 * recorded once into the plan's step list, for every run with the same extents.
 */
export type Task = ((run: Run) => Iterable<Stage | DeferredStages>) | ((run: Run) => void);

/** What a kernel is given when a plan is compiled. */
export interface BuildContext {
  readonly exports: Exports;
  /**
   * The memory. Whoever looks at it while the plan runs cannot be recorded: the step then returns to JavaScript, on the caller's
   * thread, in the middle of the list. Kernels of every decode step should not.
   */
  readonly heap: Heap;
  /** Threads that share what a task yields. */
  readonly threads: number;
  readonly target: Target;
  /** Threads that may run a tile: functions that need memory of their own take it by `threadIndex`. */
  readonly maxThreads: number;
  /** Defines functions, once, that are in a file which is loaded on demand. */
  include(emit: NonNullable<AnyKernel["emit"]>): void;
  /** The operand's spec with symbolic dims at their maxima. */
  max(operand: Operand): ConcreteSpec;
  /** The format of a block matrix whose rows are interleaved in the operand's memory, or undefined where bytes lie as they were loaded. */
  interleaving(operand: Operand): Interleaving;
  /** Whether a matrix `[k, n]` lies in panels, as products with several rows read it: see `matmul/outer.ts`. */
  isPacked(operand: Operand): boolean;
  /** Asks for so many bytes of scratch memory during the step. */
  reserve(bytes: number): void;
  /** Asks for memory of the plan's own that outlives runs, `write` gives its first content. Its address is known when the plan is complete. */
  table(bytes: number, write?: (bytes: Uint8Array<ArrayBuffer>) => void): () => number;
  /** Something that steps of one plan share, made by the first that asks. */
  shared<T>(key: string, create: () => T): T;
  /**
   * A function for this plan alone, in a module that is compiled with it. `key` tells all that its code depends on; `define` is asked
   * once for each key, and emits a function of the name that it is given.
   */
  emit(key: string, define: (module: ModuleBuilder, name: string, target: Target) => void): Emitted;
}

/** Specs of an op's inputs as its kernel gets them; optional ones that a call leaves out are undefined. */
type SpecsOf<N extends OpName> = Parameters<Ops[N]["infer"]>[0];

/** An operand for each spec of a tuple. */
type OperandPer<Specs> = { readonly [K in keyof Specs]: Specs[K] extends TensorSpec ? Operand : Operand | undefined };

/** How this backend computes an op, by the types of its inputs and parameters. */
export interface KernelFor<Operands, Specs, Params extends object> {
  /** Adds the functions that the kernel calls to a module. */
  emit?(module: ModuleBuilder, target: Target): void;
  /** Why a call cannot be computed, or undefined if it can. */
  unsupported?(inputs: Specs, params: Params, output: TensorSpec): string | undefined;
  /** Keys of the functions that `build` requests from `BuildContext.emit`. */
  emitted?(inputs: Specs, params: Params, output: TensorSpec): readonly string[];
  /** Prepares a call. `extraOutputs` are the further results of a fused group. */
  build(context: BuildContext, inputs: Operands, params: Params, output: Operand, extraOutputs?: readonly Operand[]): Task;
}

/** The kernel of an op. */
export type Kernel<N extends OpName> = KernelFor<OperandPer<SpecsOf<N>>, SpecsOf<N>, ParamsOf<N>>;

/** A kernel of any op. */
export type AnyKernel = KernelFor<readonly (Operand | undefined)[], readonly (TensorSpec | undefined)[], object>;

/** A kernel over any number of inputs, all of them present. */
export type ListKernel<Params extends object> = KernelFor<readonly Operand[], readonly TensorSpec[], Params>;

/** A kernel of fused groups. */
export type FusedKernel = ListKernel<FusedParams> & Required<Pick<ListKernel<FusedParams>, "unsupported" | "emitted">>;

/** Kernels by op. Ops that alias (`reshape`) need none: their output is their input's memory. */
export type Kernels = { readonly [N in OpName]?: Kernel<N> };
