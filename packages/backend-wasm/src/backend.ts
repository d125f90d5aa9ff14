import {
  type Backend,
  type BackendFactory,
  type ConcreteSpec,
  type DeviceInfo,
  DisposedError,
  NotLoadedError,
  type Plan,
  Tensor,
  type TensorSpec,
  type TypedArray,
} from "@centella/core";
import {
  type AnyOp,
  type BackendThresholds,
  byteLength,
  type CompileOptions,
  type Counters,
  checkData,
  compileOptions,
  createCounters,
  type FusionLimits,
  type MemoryReport,
  mapTuple,
  type ProgramGraph,
  sharedPlan,
  WorkQueue,
} from "@centella/core/backend";
import { customUnsupported, no64Custom } from "./custom.ts";
import { isPage, type WasmFeatures } from "./detect.ts";
import type { AnyKernel } from "./kernel.ts";
import { isLazy, loadKernelFiles, loadKernels } from "./kernels/lazy/lazyKernels.ts";
import { type Extent, kernelOf, type Opened, openModule } from "./linking/baseModule.ts";
import { loadParts, loadPartsOf, requireParts } from "./linking/lazyParts.ts";
import { PlanLinker, precompiledName } from "./linking/planLinker.ts";
import type { Heap } from "./memory/heap.ts";
import { MemoryInstance, type MemoryParts } from "./memory/memoryInstance.ts";
import { WasmStorage } from "./memory/tensors.ts";
import { matrixBytes } from "./memory/weightLayout.ts";
import { type CheckedOptions, checkedOptions, type WasmOptions } from "./options.ts";
import { EventLoopYield } from "./plan/eventLoopYield.ts";
import { WasmPlan } from "./plan/plan.ts";
import { buildPlan } from "./plan/planBuild.ts";
import type { WasmPlanOwner } from "./plan/planOwner.ts";
import type { Target } from "./target.ts";
import type { ThreadPool } from "./threads/pool.ts";
import { thresholds } from "./thresholds.ts";

/**
 * The WASM SIMD backend: runs in every current JavaScript engine, on several threads where memory can be shared.
 * @throws {ArgumentError} for an unknown option
 */
export function wasm(options: WasmOptions = {}): BackendFactory {
  const checked = checkedOptions(options);
  return { name: "wasm", open: () => openBackend(checked), weightBytes: matrixBytes };
}

/** Opens the backend; `features` are the engine's. */
export async function openBackend(options: CheckedOptions, features?: WasmFeatures): Promise<WasmBackend> {
  const opened = options.module === undefined ? await openWithCode(options, features) : await openCompiled(options.module, options);
  return new WasmBackend(opened, await MemoryInstance.open(opened, opened.all64), options);
}

async function openCompiled(module: WebAssembly.Module, options: CheckedOptions): Promise<Opened> {
  await loadCode(options);
  return (await import("./linking/precompiled.ts")).openPrecompiled(module, options.maxMemoryMiB);
}

/** Starts the threads while code loads. */
async function openWithCode(options: CheckedOptions, features: WasmFeatures | undefined): Promise<Opened> {
  const opening = openModule(options, extentOf(options.sync), features);
  const [opened, loaded] = await Promise.allSettled([opening, loadCode(options)]);
  if (opened.status === "rejected") throw opened.reason;
  if (loaded.status === "fulfilled") return opened.value;
  opened.value.pool?.dispose();
  throw loaded.reason;
}

/**
 * Loads the code that the options require. A precompiled module is described by its kernels, and calls that cannot wait
 * may need any kernel. In a page they can use all but block types and the layers of models, which are loaded with the
 * first program that has them.
 */
async function loadCode({ module, sync, checkWrites }: CheckedOptions): Promise<void> {
  if (module !== undefined || (sync && !isPage())) await loadKernelFiles();
  else if (sync) await loadKernelFiles(["copy", "array"]);
  if (sync) await loadParts(isPage() ? ["floats"] : undefined);
  if (checkWrites) await loadParts(["writeGuards"]);
}

/**
 * Kernels to compile when the backend opens. Pages may not compile within a call, so kernels for such calls are
 * compiled beforehand.
 */
function extentOf(sync: boolean): Extent {
  return sync && isPage() ? "all" : "none";
}

/** Plans with at least this many bytes of persistents get their own memory. */
const ownMemoryBytes = 2 ** 25;
/**
 * Above this many bytes the memory has 64-bit addresses. The remaining 0.5 GiB below 4 GiB is for temporaries and later
 * plans.
 */
const memory64Bytes = 3.5 * 2 ** 30;

export class WasmBackend implements Backend, WasmPlanOwner {
  readonly name = "wasm";
  readonly device: DeviceInfo;
  readonly syncAvailable = true;
  readonly thresholds: BackendThresholds = thresholds;
  readonly memoryModel = "addressSpace";
  /** Larger groups would take long to compile and run out of registers. */
  readonly fusion: FusionLimits = { maxInputs: 16, maxCalls: 32 };
  readonly counters: Counters = createCounters();
  readonly eventLoop: EventLoopYield = new EventLoopYield();
  /** Undefined if code is loaded when a program needs it. */
  readonly compileSync?: (program: ProgramGraph) => Plan;
  /** Memory of small plans and uploaded tensors. */
  readonly instance: MemoryInstance;
  readonly target: Target;
  /** Whether plans check for writes outside their tensors. */
  readonly checkWrites: boolean;
  readonly #parts: MemoryParts & Pick<Opened, "settled">;
  readonly #isPrecompiled: boolean;
  readonly #all64: boolean;
  /** Whether a plan waits for all threads, unless in the background, because compiling it reports that they cannot start. */
  readonly #waitsForThreads: boolean;
  readonly #instances: Set<MemoryInstance>;
  readonly plans: Set<WasmPlan> = new Set();
  readonly #queue = new WorkQueue();
  #disposed = false;

  constructor(
    { target, reason, isPrecompiled, all64, ...parts }: Opened,
    instance: MemoryInstance,
    { checkWrites, sync, threads: asked }: CheckedOptions,
  ) {
    this.checkWrites = checkWrites;
    this.#waitsForThreads = asked !== "auto" && asked > 1;
    if (sync) this.compileSync = (program) => this.#compileSync(program);
    this.#isPrecompiled = isPrecompiled;
    this.#all64 = all64;
    this.instance = instance;
    this.target = target;
    this.#parts = parts;
    this.#instances = new Set([instance]);
    const { pool } = parts;
    const count = pool?.size ?? 1;
    const threads = `${count} thread${count === 1 ? "" : "s"}${reason === undefined ? "" : ` (${reason})`}`;
    this.device = { kind: "cpu", name: `${target.relaxed ? "WebAssembly relaxed SIMD" : "WebAssembly SIMD"}, ${threads}`, threads: count };
  }

  /** Functions of one plan: emitted where the host compiles WebAssembly. */
  planLinker({ memory, baseModule }: MemoryInstance): PlanLinker {
    return new PlanLinker(memory, this.target, this.pool, this.#isPrecompiled ? baseModule : undefined);
  }

  get heap(): Heap {
    return this.instance.heap;
  }

  unsupported(op: AnyOp, inputs: readonly (TensorSpec | undefined)[], params: object, output: TensorSpec): string | undefined {
    if (op.alias === true) return undefined;
    if (op.kernels !== undefined) return this.#all64 ? no64Custom : customUnsupported(op, [...inputs, output]);
    // Lazy kernels support every call, and may not be loaded yet.
    if (isLazy(op) && !this.#isPrecompiled) return undefined;
    const kernel = kernelOf(op);
    if (kernel === undefined) return `there is no kernel for ${op.name} yet`;
    return kernel.unsupported?.(inputs, params, output) ?? this.#uncompiled(kernel, inputs, params, output);
  }

  /** Why a precompiled module has no function for a call, or undefined. */
  #uncompiled(kernel: AnyKernel, inputs: readonly (TensorSpec | undefined)[], params: object, output: TensorSpec): string | undefined {
    if (!this.#isPrecompiled) return undefined;
    const missing = kernel.emitted?.(inputs, params, output).find((key) => !this.instance.baseModule.has(precompiledName(key)));
    return missing && `${missing} is not in the precompiled module`;
  }

  async compile(program: ProgramGraph, options: CompileOptions = {}): Promise<Plan> {
    const { signal, background, ...sharing } = compileOptions(program, options);
    this.requireAlive();
    const shared = sharedPlan(this.plans, sharing.shareWith);
    const instance = shared?.instance ?? (await this.#instanceFor(program));
    instance.retain();
    try {
      await instance.custom.prepare(program);
      const programs = [program, ...(sharing.sharedBy ?? [])];
      await Promise.all([loadPartsOf(programs), loadKernels(programs)]);
      signal?.throwIfAborted();
      this.requireAlive();
      const plan = new WasmPlan(this, buildPlan(this, instance, program, { shared, sharedBy: sharing.sharedBy }));
      this.plans.add(plan);
      try {
        await (this.#waitsForThreads && !background ? plan.shareFunctions() : plan.loadFunctions());
        this.requireAlive();
      } catch (error) {
        plan.dispose();
        throw error;
      }
      return plan;
    } finally {
      this.leave(instance);
    }
  }

  #compileSync(program: ProgramGraph): Plan {
    this.requireAlive();
    requireParts(program);
    const { custom } = this.instance;
    const unready = program.nodes.find(({ op }) => op.kernels !== undefined && custom.get(op) === undefined);
    if (unready !== undefined)
      throw new NotLoadedError(
        `wasm: ${unready.op.name}`,
        "its module is compiled asynchronously; compile a program with it first, or await the call",
      );
    const plan = new WasmPlan(this, buildPlan(this, this.instance, program, {}));
    this.plans.add(plan);
    try {
      plan.loadFunctionsSync();
    } catch (error) {
      plan.dispose();
      throw error;
    }
    return plan;
  }

  /** Returns the shared memory, or a new one for a program with a model's weights. */
  async #instanceFor({ persistents, nodes }: ProgramGraph): Promise<MemoryInstance> {
    const sizes = [...persistents.values()].map(({ spec, init }) => ({
      stored: byteLength(spec),
      most: init === "zeros" ? 0 : matrixBytes(spec),
    }));
    const bytes = sizes.reduce((sum, { stored }) => sum + stored, 0);
    if (bytes < ownMemoryBytes) return this.instance;
    const isWide = sizes.reduce((sum, { stored, most }) => sum + Math.max(stored, most), 0) > memory64Bytes;
    const hasCustom = nodes.some(({ op }) => op.kernels !== undefined);
    const instance = await MemoryInstance.open(this.#parts, this.#all64 || (isWide && this.#parts.no64 === undefined && !hasCustom));
    this.#instances.add(instance);
    // Threads interleave rows while these are read. If they cannot start, this thread does.
    instance.share().catch(() => undefined);
    try {
      instance.heap.require(bytes);
    } catch (error) {
      instance.retain();
      this.leave(instance);
      throw error;
    }
    return instance;
  }

  /** Ends a plan's use of a memory. The last plan frees it, unless it is the shared memory. */
  leave(instance: MemoryInstance): void {
    if (!instance.release() || instance === this.instance) return;
    this.#instances.delete(instance);
    void this.enqueue(() => instance.drop());
  }

  upload(spec: ConcreteSpec, data: TypedArray): Tensor {
    this.requireAlive();
    checkData("upload", spec, data);
    const address = this.heap.alloc(data.byteLength, "tensors");
    this.heap.u8.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), address);
    return new Tensor(spec, new WasmStorage(this.heap, spec, Promise.resolve(), address));
  }

  /** `other` is memory that no tensor uses: constants, and free space that WASM cannot return. */
  memory(): MemoryReport {
    const sum = (bytes: (heap: Heap) => number): number => [...this.#instances].reduce((total, { heap }) => total + bytes(heap), 0);
    const [persistents, arenas, tensors] = mapTuple(["persistents", "arenas", "tensors"], (purpose) => sum((heap) => heap.used(purpose)));
    const other = sum(({ memory }) => memory.buffer.byteLength) - persistents - arenas - tensors;
    return { persistents, arenas, tensors, other };
  }

  async idle(): Promise<void> {
    await this.#queue.idle();
  }

  /** Threads for awaited runs. Undefined if there are none or one was lost. */
  get pool(): ThreadPool | undefined {
    const { pool } = this.#parts;
    return pool?.isLost === true ? undefined : pool;
  }

  /** Whether queued work is unfinished. */
  get isBusy(): boolean {
    return this.#queue.busy;
  }

  /** Runs work after all previously queued work. */
  enqueue<T>(work: () => T | Promise<T>): Promise<T> {
    return this.#queue.enqueue(work);
  }

  async dispose(): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    await this.idle();
    for (const plan of this.plans) plan.dispose();
    await this.idle();
    this.#parts.pool?.dispose();
    await this.#parts.settled?.();
  }

  /** @throws {DisposedError} */
  requireAlive(): void {
    if (this.#disposed) throw new DisposedError("backend wasm");
  }
}
