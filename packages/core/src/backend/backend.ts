import type { FusionLimits } from "../compiler/passes/grouping.ts";
import type { RowsAtOnce } from "../compiler/passes/splitRows.ts";
import type { DType, TypedArray } from "../dtype.ts";
import type { Activations } from "../ops/shared/transposedProduct.ts";
import type { AnyOp } from "../program/op.ts";
import type { ProgramGraph } from "../program/programGraph.ts";
import type { BackendThresholds } from "../runtime/thresholdTypes.ts";
import type { ConcreteSpec, DimValues, TensorSpec } from "../spec.ts";
import type { Tensor } from "../tensor.ts";

/** What a backend computes on. "software-gpu" is a GPU API served by the CPU (SwiftShader, lavapipe): never chosen by default. */
export interface DeviceInfo {
  readonly kind: "cpu" | "gpu" | "software-gpu";
  /** The device's own name, e.g. "NVIDIA H200". */
  readonly name: string;
  /** Number of threads that compute; undefined for a GPU. */
  readonly threads?: number;
}

/** Counts since the backend was opened; tests assert on them, benches print them. */
export interface Counters {
  /** Host-to-device transfers for runs (weights not counted). */
  uploads: number;
  /** Submissions of recorded work to the device, of which a long run may have several; on a CPU, replays of a plan. */
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

/** What a device reports of its memory, in bytes. */
export interface DeviceMemory {
  /** Bytes that are free now. Undefined if the device does not report them. */
  readonly free?: number;
  /**
   * Bytes of the largest tensor that kernels can read at once; see `Backend.rowsAtOnce` for weights. Undefined if there is no limit
   * but the free memory.
   */
  readonly largestTensor?: number;
}

/** A source of a tensor's stored form that can be read repeatedly: a file, a `Blob`, an array. */
export interface TensorSource {
  /** Total bytes. */
  readonly size: number;
  /** Resolves to exactly `length` bytes from `offset`, or rejects. */
  read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>;
  /**
   * Fills `target` with the bytes from `offset`, or rejects. For sources that would copy anyway: backends give them the memory that the
   * bytes are loaded to. It may be shared with other threads, and cannot be transferred. A source does not write to it once the promise has settled.
   */
  readInto?(target: Uint8Array, offset: number, signal?: AbortSignal): Promise<void>;
}

/** Data of a run's input: its stored form, or a tensor of any backend. */
export type InputData = TypedArray | Tensor;

export interface RunOptions {
  /** Values of symbolic dims that cannot be derived from the inputs' lengths. */
  readonly dims?: DimValues;
  /** Aborting before the run starts cancels it; later, the run stops between steps and its outputs reject with the reason. */
  readonly signal?: AbortSignal;
}

/** Options of `Plan.profile`. */
export interface ProfileOptions extends RunOptions {
  /**
   * Default: true. False times the run as a whole, without a timer between two steps: the result has a total and no steps. On a GPU
   * a timer costs about a microsecond, and what kernels gain by starting while the one before ends.
   */
  readonly perStep?: boolean;
}

/** How long a step took. */
export interface StepTime {
  readonly microseconds: number;
  /** Number of launches of the step on a GPU; absent on CPUs. 0 for a step with an empty result. */
  readonly launches?: number;
}

/** A step of a profiled run. */
export interface ProfiledStep extends StepTime {
  /** Names of the step's results, as `program.explain(backend)` lists them, e.g. "%12" or "cache'1". */
  readonly name: string;
  /** Name of the op, or of the kind of fused group. */
  readonly op: string;
}

/** The time of a run by steps, as plain data. */
export interface Profile {
  /** In the order in which the steps run, which is that of `explain`. */
  readonly steps: readonly ProfiledStep[];
  /** Time of the run in microseconds: of all steps together. Copies of inputs and outputs are not counted. */
  readonly total: number;
}

export interface LoadOptions {
  readonly signal?: AbortSignal;
  /** Called with the bytes loaded so far and the total. */
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * A compiled program with its persistents.
 *
 * Runs execute in the order of the calls. `run` checks its arguments at once, copies its host inputs, queues the work and
 * returns handles; reading a handle waits. A signal that is already aborted may throw at the call or reject the outputs. Outputs
 * belong to the caller and survive later runs and the plan.
 *
 * After an aborted or failed run, the persistents that it writes may be partly written (the rows of a `kvWrite` may hold anything);
 * everything else is unchanged, and the next run starts clean. Runs queued before `dispose()` still complete; memory shared through
 * `shareWith` lives until the last plan that uses it is disposed of.
 */
export interface Plan {
  readonly program: ProgramGraph;
  /** Warnings for the user, e.g. about weights that are dequantised at load, with the memory that this costs. */
  readonly warnings: readonly string[];
  /** Streams a persistent's stored form in, converting it to the layout that the backend chose for all its uses. */
  load(name: string, source: TensorSource, options?: LoadOptions): Promise<void>;
  /** Returns a persistent's current content in its declared stored form, regardless of the layout in memory. */
  save(name: string): Promise<TypedArray>;
  /**
   * Makes runs of these extents start without delay: compiles their kernels, while weights load and other runs go on. A run whose extents
   * were not prepared compiles what it needs itself. Absent on backends where nothing is compiled for extents.
   * @throws {KernelError} if a kernel cannot be compiled
   */
  prepare?(extents: readonly DimValues[]): Promise<void>;
  /** Sets a "zeros" persistent back to zeros, in order with the runs. */
  reset(name: string): void;
  run(inputs: Readonly<Record<string, InputData>>, options?: RunOptions): Record<string, Tensor>;
  /**
   * Like `run` with host inputs, but computes before it returns, and returns device outputs on the host too. Only if
   * `backend.syncAvailable`.
   * @throws {ProgramError} while work is queued or under way on the backend, which it can neither wait for nor overtake
   */
  runSync?(inputs: Readonly<Record<string, TypedArray>>, options?: Pick<RunOptions, "dims">): Record<string, TypedArray>;
  /**
   * Runs the program once and resolves with the time of each step: on a GPU the device's own time, without the host's; on a CPU
   * the host's clock around each step, which includes waking the threads. Outputs are dropped, and persistents are written as by a run.
   *
   * Times of one run scatter, and the first run of new extents is slow: profile several times and take medians. Browsers round the
   * times of a GPU to 100 µs.
   * @throws {UnsupportedError} where the device has no timestamps, and for a plan with parts on several backends
   */
  profile(inputs: Readonly<Record<string, InputData>>, options?: ProfileOptions): Promise<Profile>;
  dispose(): void;
}

export interface CompileOptions {
  /** A living plan of the same backend. Persistents of the same name and spec use its memory, layout included. */
  readonly shareWith?: Plan;
  /** Programs that will be compiled with `shareWith` this plan. Their uses count when the layout of persistents is chosen. */
  readonly sharedBy?: readonly ProgramGraph[];
  /**
   * Returns the plan while the device's compiler still works on its kernels, so that weights load meanwhile. `Plan.prepare` waits for
   * them, and so do runs, whose outputs reject if a kernel cannot be compiled. Default: false.
   */
  readonly background?: boolean;
  readonly signal?: AbortSignal;
}

/** The state that was lost with a device; see {@link Backend.recover}. */
export interface Recovery {
  /** Persistents that start as zeros, and hold zeros again. */
  readonly reset: readonly { readonly plan: Plan; readonly name: string }[];
}

/** A place to compute. It owns memory and kernels, and knows nothing about models. */
export interface Backend {
  readonly name: string;
  readonly device: DeviceInfo;
  /** Whether plans have `runSync`: the backend can compute before a call returns. */
  readonly syncAvailable: boolean;
  readonly counters: Counters;
  /** From how much work on the backend is worth its fixed costs; any work, where the backend has none. `Policy.thresholds` replaces entries. */
  readonly thresholds?: BackendThresholds;
  /**
   * Number of runs that a caller should keep queued so that the device never waits for the host. Default 1, for backends that compute on the
   * host.
   */
  readonly runsInFlight?: number;
  /** Most rows of activations that a run should have: more do not make products faster, or make the run last too long. Default: 2048. */
  readonly preferredRows?: number;
  /** Limits of a fused group; undefined if there are none. */
  readonly fusion?: FusionLimits;
  /** How temporaries are stored: at offsets of one address space (the default), or in buffers that cannot be bound for reading and writing at once. */
  readonly memoryModel?: "addressSpace" | "buffers";
  /**
   * How many rows of weights, or experts of a stack, a kernel can read at once: `splitRows` splits products and lookups. Undefined where kernels
   * read any weight.
   */
  readonly rowsAtOnce?: RowsAtOnce;
  /**
   * The mode of `activations` in which products with weights of a type are fastest here. Models are computed in it unless they are told
   * otherwise, so it must not depend on tuning or on anything else that varies between runs on one device. Default: "ggml" for block types,
   * else "f32", as CPUs prefer.
   */
  preferredActivations?(weights: DType): Activations;
  /** Returns undefined if the backend has a kernel for the call, otherwise the reason as a message. Never throws. */
  unsupported(op: AnyOp, inputs: readonly (TensorSpec | undefined)[], params: object, output: TensorSpec): string | undefined;
  /** @throws {UnsupportedError} if a node has no kernel here, naming it and the reason. */
  compile(program: ProgramGraph, options?: CompileOptions): Promise<Plan>;
  /**
   * Like `compile`, but within the call; only if `syncAvailable`. The plan has `runSync`.
   * @throws {UnsupportedError} if a node has no kernel here
   * @throws {NotLoadedError} if code must be awaited first, such as a custom op's module
   * @throws {ProgramError} while a device has work under way
   */
  compileSync?(program: ProgramGraph): Plan;
  /** A tensor in this backend's memory. */
  upload(spec: ConcreteSpec, data: TypedArray): Tensor;
  memory(): MemoryReport;
  /** Memory of a device that has its own. Undefined for backends that compute in the host's memory. */
  deviceMemory?(): DeviceMemory;
  /**
   * Copies a tensor of this backend to other memory of the device, `count` times, and resolves with the time of all copies in
   * microseconds. The driver copies, not a kernel: its rate is the one to hold kernels against. Only for devices with memory of their own.
   */
  timeCopies?(tensor: Tensor, count: number): Promise<number>;
  /**
   * Opens the device again after calls failed with a `DeviceLostError`. Plans can be used again: their kernels are compiled, and weights
   * are loaded from the sources that they were loaded from, which must still be readable. Persistents that start as zeros do so
   * again. Tensors on the device are gone. Nothing happens if the device was not lost. Absent on backends that cannot do this.
   * @throws {UnsupportedError} if there is no such device any more; the errors of the sources. The backend can then be recovered later.
   */
  recover?(): Promise<Recovery>;
  /** Number of times that {@link recover} has opened the device again. */
  readonly recoveries?: number;
  /** Resolves when all queued work is done. Errors of runs reach the readers of their outputs. */
  idle(): Promise<void>;
  /** Frees everything, including the device. Plans and tensors of the backend cannot be used afterwards. */
  dispose(): Promise<void>;
}

/** An argument of `createRuntime`: a name, and how to open the backend. Importing one opens nothing. */
export interface BackendFactory {
  readonly name: string;
  /** @throws {UnsupportedError} with the reason if the device or the feature is missing */
  open(): Promise<Backend>;
  /** Bytes that a weight takes once it is loaded, known without a device. Default: the size of its stored form. */
  weightBytes?(spec: ConcreteSpec): number;
}
