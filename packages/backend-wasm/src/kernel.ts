import type { ConcreteSpec, OpName, ParamsOf, TensorSpec } from "@centella/core";
import type { FusedParams, Operand, Ops } from "@centella/core/backend";
import type { ModuleBuilder } from "./emit/index.ts";
import type { Interleaving } from "./formats/interleave.ts";
import type { Heap } from "./memory/heap.ts";
import type { Target } from "./target.ts";

/**
 * An emitted function. Addresses and counts are plain numbers; values from 2^31 wrap to the same 32 bits. While a step
 * list is recorded, calls are recorded instead of made.
 */
export type Emitted = (...args: number[]) => number;

/** Emitted functions by name. */
export type Exports = (name: string) => Emitted;

/** A step's view of one run. */
export interface Run {
  /** Address of an operand's first byte. */
  address(operand: Operand): number;
  /** Extents of an operand in this run. */
  shape(operand: Operand): readonly number[];
  /** Address of the plan's scratch memory, which holds what every step reserved. */
  readonly scratch: number;
}

/** One call of an emitted function. */
export interface Call {
  readonly fn: Emitted;
  readonly args: readonly number[];
  /** Calls that the same thread makes right afterwards, while the results of this one are in its cache. */
  readonly chained?: readonly Call[];
}

/**
 * Calls of a function whose last parameters are `begin` and `end`: `total` units in ranges of `grain`. `args` are the
 * parameters before these two.
 */
export interface Range extends Call {
  readonly total: number;
  readonly grain: number;
}

/**
 * Calls that a step yields for threads to share. They may run at the same time and in any order, and see the results of
 * earlier stages. Undefined is an empty stage, at which a step on the caller's thread may pause.
 */
export type Stage = undefined | Range | readonly Call[];

/**
 * Stages of a step that reads memory, known only while it runs. They read no memory themselves, so threads can share
 * them.
 */
export type DeferredStages = () => Iterable<Stage>;

/**
 * Runs one step: calls emitted functions, and yields calls that threads can share. If the kernel reads no memory, the
 * calls are recorded once in the plan's step list, for all runs with the same extents.
 */
export type Task = ((run: Run) => Iterable<Stage | DeferredStages>) | ((run: Run) => void);

/** What a kernel gets when a plan is compiled. */
export interface BuildContext {
  readonly exports: Exports;
  /**
   * {@link exports} for functions that only some extents need: each is emitted when a run first calls it. Stages that are known only during a
   * run cannot call them, because threads get functions before a run starts.
   */
  readonly onDemand: Exports;
  /**
   * The memory. A step that reads it during a run cannot be recorded: the list returns to JavaScript on the caller's
   * thread. Kernels of decode steps should not read it.
   */
  readonly heap: Heap;
  /** Number of threads that share a stage. */
  readonly threads: number;
  readonly target: Target;
  /** Number of threads that may run a tile. Functions index their own scratch memory by `threadIndex`. */
  readonly maxThreads: number;
  /** Defines the functions of a lazily loaded file, once. */
  include(emit: NonNullable<AnyKernel["emit"]>): void;
  /** The operand's spec with symbolic dims at their maxima. */
  max(operand: Operand): ConcreteSpec;
  /** Format of an operand's interleaved rows. Undefined if its bytes are stored as they were loaded. */
  interleaving(operand: Operand): Interleaving;
  /** Whether a matrix `[k, n]` is stored in packed panels: see `matmul/outer.ts`. */
  isPacked(operand: Operand): boolean;
  /** Reserves scratch memory for the duration of the step. */
  reserve(bytes: number): void;
  /**
   * Reserves memory of the plan that outlives runs; `write` fills it. The address is known once the plan is complete.
   */
  table(bytes: number, write?: (bytes: Uint8Array<ArrayBuffer>) => void): () => number;
  /** A value that steps of one plan share, created at the first request. */
  shared<T>(key: string, create: () => T): T;
  /**
   * Returns a function that is compiled for this plan. `key` identifies its code; `define` is called once per key and
   * emits a function of the given name.
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
