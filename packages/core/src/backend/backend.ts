import type { FusionLimits } from "../compiler/passes/grouping.ts";
import type { TypedArray } from "../dtype.ts";
import type { AnyOp } from "../program/op.ts";
import type { ProgramGraph } from "../program/programGraph.ts";
import type { BackendThresholds } from "../runtime/thresholdTypes.ts";
import type { ConcreteSpec, DimValues, TensorSpec } from "../spec.ts";
import type { Tensor } from "../tensor.ts";

/** What a backend computes on. "software-gpu" is a GPU API served by the CPU (SwiftShader, lavapipe): never chosen unasked. */
export interface DeviceInfo {
  readonly kind: "cpu" | "gpu" | "software-gpu";
  /** As the device names itself, e.g. "NVIDIA H200". */
  readonly name: string;
  /** Threads that it computes with; undefined where that is not the question. */
  readonly threads?: number;
}

/** Counts since the backend was opened; tests assert on them, benches print them. */
export interface Counters {
  /** Host-to-device transfers for runs (weights not counted). */
  uploads: number;
  /** Submissions of recorded work to the device; on a CPU, replays of a plan. */
  submits: number;
  /** Device-to-host transfers. */
  readbacks: number;
  /** Steps executed, by op name. */
  readonly ops: Record<string, number>;
}

/** Bytes that a backend holds, by purpose. */
export interface MemoryReport {
  readonly persistents: number;
  readonly arenas: number;
  readonly tensors: number;
  /** Compiled modules, staging and the like. */
  readonly other: number;
}

/** A place from which a tensor's stored form can be read as often as needed: a file, a `Blob`, an array. */
export interface TensorSource {
  /** Bytes in all. */
  readonly size: number;
  /** Exactly `length` bytes from `offset`, or a rejection. */
  read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>;
}

/** What a run is given for an input: its stored form, or a tensor of any backend. */
export type InputData = TypedArray | Tensor;

export interface RunOptions {
  /** Values of symbolic dims that the inputs' lengths do not tell. */
  readonly dims?: DimValues;
  /** Aborting before the run starts cancels it; later, it stops at a step's border and its outputs reject with the reason. */
  readonly signal?: AbortSignal;
}

export interface LoadOptions {
  readonly signal?: AbortSignal;
  /** Called with the bytes done and the bytes in all. */
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * A compiled program with its persistents.
 *
 * Runs execute in the order of the calls. `run` checks its arguments at once, copies its host inputs, queues the work and
 * returns handles; reading a handle waits. A signal that is aborted already may throw at the call or reject the outputs. Outputs belong to the caller and survive later runs and the plan. After an aborted or failed
 * run the persistents that it writes are as far as it came (the rows that a `kvWrite` was to write may hold anything);
 * everything else is as before, and the next run starts clean. Runs queued before `dispose()` still complete; memory shared
 * through `shareWith` lives until the last plan that uses it is disposed of.
 */
export interface Plan {
  readonly program: ProgramGraph;
  /** Things that the user should know, e.g. weights that were dequantised at load and what that costs. */
  readonly warnings: readonly string[];
  /** Streams a persistent's stored form in, converting it to the layout that the backend chose for all its uses. */
  load(name: string, source: TensorSource, options?: LoadOptions): Promise<void>;
  /** A persistent's present content in its declared stored form, whatever the layout in memory is. */
  save(name: string): Promise<TypedArray>;
  /** Sets a "zeros" persistent back to zeros, in order with the runs. */
  reset(name: string): void;
  run(inputs: Readonly<Record<string, InputData>>, options?: RunOptions): Record<string, Tensor>;
  /**
   * Like `run` with host inputs, but computes before it returns and gives device outputs on the host too; only where
   * `backend.syncAvailable`.
   * @throws {ProgramError} while work is queued or under way on the backend, which it can neither wait for nor overtake
   */
  runSync?(inputs: Readonly<Record<string, TypedArray>>, options?: Pick<RunOptions, "dims">): Record<string, TypedArray>;
  dispose(): void;
}

export interface CompileOptions {
  /** Persistents of the same name and spec are the same memory as this plan's, layout included. */
  readonly shareWith?: Plan;
  /** Programs that will be compiled with `shareWith` this plan: their uses count where the layout of persistents is chosen. */
  readonly sharedBy?: readonly ProgramGraph[];
  readonly signal?: AbortSignal;
}

/** A place to compute. Think of it as a connector: it owns memory and kernels, and knows nothing of models. */
export interface Backend {
  readonly name: string;
  readonly device: DeviceInfo;
  /** Whether plans have `runSync`: the backend can compute before a call returns. */
  readonly syncAvailable: boolean;
  readonly counters: Counters;
  /** From how much work on the backend is worth its fixed costs; any work, where the backend has none. `Policy.thresholds` replaces entries. */
  readonly thresholds?: BackendThresholds;
  /** What one kernel may hold; none where the backend sets no limit. */
  readonly fusion?: FusionLimits;
  /** How temporaries lie: at offsets of one address space (the default), or in buffers of which one cannot be bound both ways. */
  readonly memoryModel?: "addressSpace" | "buffers";
  /** Undefined if the backend has a kernel for the call, otherwise the reason in words. Never throws. */
  unsupported(op: AnyOp, inputs: readonly (TensorSpec | undefined)[], params: object, output: TensorSpec): string | undefined;
  /** @throws {UnsupportedError} if a node has no kernel here, naming it and the reason. */
  compile(program: ProgramGraph, options?: CompileOptions): Promise<Plan>;
  /**
   * Like `compile`, within the call; only where `syncAvailable`, and the plan has `runSync`.
   * @throws {UnsupportedError} if a node has no kernel here
   * @throws {NotLoadedError} if code must be awaited first, such as a custom op's module
   * @throws {ProgramError} where a device has work under way that must be waited for
   */
  compileSync?(program: ProgramGraph): Plan;
  /** A tensor in this backend's memory. */
  upload(spec: ConcreteSpec, data: TypedArray): Tensor;
  memory(): MemoryReport;
  /** Resolves when all queued work is done. Errors of runs reach the readers of their outputs. */
  idle(): Promise<void>;
  /** Frees everything; the device too. Plans and tensors of the backend are dead afterwards. */
  dispose(): Promise<void>;
}

/** What `createRuntime` is given: a name, and how to open the backend. Importing one opens nothing. */
export interface BackendFactory {
  readonly name: string;
  /** @throws {UnsupportedError} with the reason where the device or the feature is missing. */
  open(): Promise<Backend>;
  /** Bytes that a weight takes once it is loaded, known without a device. Default: those of its stored form. */
  weightBytes?(spec: ConcreteSpec): number;
}
