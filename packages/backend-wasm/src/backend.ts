import {
  type AnyOp,
  type Backend,
  type BackendFactory,
  type CompileOptions,
  type ConcreteSpec,
  type Counters,
  checkData,
  createCounters,
  type DeviceInfo,
  DisposedError,
  isFused,
  type MemoryReport,
  type OpName,
  type Plan,
  type ProgramGraph,
  Tensor,
  type TensorSpec,
  type TypedArray,
  UnsupportedError,
  WorkQueue,
} from "@centella/core";
import { CustomKernels, customUnsupported } from "./custom.ts";
import { fused } from "./elementwise/kernel.ts";
import type { Heap } from "./heap.ts";
import type { Kernel } from "./kernel.ts";
import { kernels } from "./kernels/index.ts";
import { pageBytes } from "./memoryMap.ts";
import { type Opened, openModule } from "./module.ts";
import { checkOptions, type WasmOptions } from "./options.ts";
import { WasmPlan } from "./plan.ts";
import type { Library, Space } from "./space.ts";
import { matrixBytes } from "./storedForm.ts";
import type { Target } from "./target.ts";
import { WasmStorage } from "./tensors.ts";
import type { ThreadPool } from "./threads/pool.ts";

/**
 * The WASM SIMD backend: runs in every current JavaScript engine, on several threads where memory can be shared.
 * @throws {ArgumentError} for an unknown option
 */
export function wasm(options: WasmOptions = {}): BackendFactory {
  const { relaxed, threads, maxMemoryMiB } = checkOptions(options);
  return {
    name: "wasm",
    open: async () => new WasmBackend(await openModule(relaxed, threads, Math.floor((maxMemoryMiB * 2 ** 20) / pageBytes))),
    weightBytes: matrixBytes,
  };
}

/** The kernel of an op, its parameter type erased. */
export function kernelOf(op: AnyOp): Kernel | undefined {
  if (isFused(op)) return fused as Kernel;
  return Object.hasOwn(kernels, op.name) ? (kernels[op.name as OpName] as Kernel | undefined) : undefined;
}

export class WasmBackend implements Backend {
  readonly name = "wasm";
  readonly device: DeviceInfo;
  readonly syncAvailable = true;
  readonly counters: Counters = createCounters();
  readonly space: Space;
  readonly library: Library;
  readonly target: Target;
  readonly custom: CustomKernels;
  readonly #pool: ThreadPool | undefined;
  readonly plans: Set<WasmPlan> = new Set();
  readonly #queue = new WorkQueue();
  #pending = 0;
  #disposed = false;

  constructor({ space, library, target, pool, reason }: Opened) {
    this.space = space;
    this.library = library;
    this.target = target;
    this.custom = new CustomKernels(space.heap.memory);
    this.#pool = pool;
    const count = pool?.size ?? 1;
    const threads = `${count} thread${count === 1 ? "" : "s"}${reason === undefined ? "" : ` (${reason})`}`;
    this.device = { kind: "cpu", name: `${target.relaxed ? "WebAssembly relaxed SIMD" : "WebAssembly SIMD"}, ${threads}`, threads: count };
  }

  get heap(): Heap {
    return this.space.heap;
  }

  unsupported(op: AnyOp, inputs: readonly (TensorSpec | undefined)[], params: object, output: TensorSpec): string | undefined {
    if (op.alias === true) return undefined;
    if (op.kernels !== undefined) return customUnsupported(op, [...inputs, output]);
    const kernel = kernelOf(op);
    if (kernel === undefined) return `there is no kernel for ${op.name} yet`;
    return kernel.unsupported?.(inputs, params, output);
  }

  async compile(program: ProgramGraph, { signal, ...sharing }: CompileOptions = {}): Promise<Plan> {
    this.requireAlive();
    await this.custom.prepare(program);
    signal?.throwIfAborted();
    const plan = new WasmPlan(this, program, sharing);
    this.plans.add(plan);
    try {
      await plan.link();
    } catch (error) {
      plan.dispose();
      throw error;
    }
    return plan;
  }

  compileSync(program: ProgramGraph): Plan {
    this.requireAlive();
    const custom = program.nodes.find(({ op }) => op.kernels !== undefined && this.custom.get(op) === undefined);
    if (custom !== undefined)
      throw new UnsupportedError(
        `wasm: ${custom.op.name}`,
        "its module must be waited for; compile a program with it first, or await the call",
      );
    const plan = new WasmPlan(this, program, {});
    this.plans.add(plan);
    try {
      plan.linkSync();
    } catch (error) {
      plan.dispose();
      throw error;
    }
    return plan;
  }

  upload(spec: ConcreteSpec, data: TypedArray): Tensor {
    this.requireAlive();
    checkData("upload", spec, data);
    const address = this.heap.alloc(data.byteLength, "tensors");
    this.heap.u8.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), address);
    return new Tensor(spec, new WasmStorage(this.heap, spec, Promise.resolve(), address));
  }

  /** `other` is the memory that no tensor uses: tables of constants and free space, which WASM cannot give back. */
  memory(): MemoryReport {
    const [persistents, arenas, tensors] = [this.heap.used("persistents"), this.heap.used("arenas"), this.heap.used("tensors")];
    return { persistents, arenas, tensors, other: this.heap.memory.buffer.byteLength - persistents - arenas - tensors };
  }

  async idle(): Promise<void> {
    await this.#queue.idle();
  }

  /** The threads that awaited runs compute on, undefined where there are none or one of them was lost. */
  get pool(): ThreadPool | undefined {
    return this.#pool?.isLost === true ? undefined : this.#pool;
  }

  /** Whether queued work is not done yet. */
  get isBusy(): boolean {
    return this.#pending > 0;
  }

  /** Runs work after all that was queued before. */
  enqueue<T>(work: () => T | Promise<T>): Promise<T> {
    this.#pending++;
    return this.#queue.enqueue(async () => {
      try {
        return await work();
      } finally {
        this.#pending--;
      }
    });
  }

  async dispose(): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    await this.idle();
    for (const plan of this.plans) plan.dispose();
    await this.idle();
    this.#pool?.dispose();
  }

  /** @throws {DisposedError} */
  requireAlive(): void {
    if (this.#disposed) throw new DisposedError("backend wasm");
  }
}
