import { type DeviceLostError, DisposedError } from "@centella/core";
import { type Counters, createCounters, type MemoryReport, ResultHolder, WorkQueue } from "@centella/core/backend";
import type { CodeCache } from "./codeCache.ts";
import type { CudaDriver, Handle, Mark } from "./driver.ts";
import { describeFailure, deviceLost, type FailedWork, isSticky } from "./errors.ts";
import { type KernelSource, ModuleCache } from "./modules.ts";
import { type PinnedBlock, PinnedPool } from "./pinnedPool.ts";
import { UploadRing } from "./uploadRing.ts";

type Purpose = keyof MemoryReport;

/** A piece of device memory. `free()` more than once does nothing. */
export interface Allocation {
  readonly address: Handle;
  readonly bytes: number;
  free(): void;
}

/** Launches that the error of a lost device names. */
const maxLastLaunches = 3;

/** Bytes of page-locked memory with results of runs that are neither read nor freed. */
const maxHeldResults = 64 * 2 ** 20;

/** Short work is polled for, for at most so long, to learn at once that it is over. */
export const maxPollMicroseconds = 180;

// CUDA does not allocate zero bytes.
const smallestAllocation = 256;

/**
 * A driver with the backend's rules around it: failures become typed errors, a lost device stays lost, memory is counted
 * by purpose, modules are compiled once per text, and work is queued in the order of the calls.
 */
export class Device {
  readonly driver: CudaDriver;
  readonly name: string;
  readonly counters: Counters = createCounters();
  readonly queue: WorkQueue = new WorkQueue();
  readonly uploads: UploadRing = new UploadRing(this);
  /** Results of runs in page-locked memory. */
  readonly results: ResultHolder = new ResultHolder(maxHeldResults, () => new DisposedError(this.name));
  readonly #bytes: Record<Purpose, number> = { persistents: 0, arenas: 0, tensors: 0, other: 0 };
  readonly #modules: ModuleCache;
  readonly #completions = new Set<Promise<unknown>>();
  /** Functions that free what was not freed yet. */
  readonly #live = new Set<() => void>();
  readonly #pinned: PinnedPool = new PinnedPool((bytes) => this.#allocPinned(bytes));
  #staging: PinnedBlock | undefined;
  #workspace: Allocation | undefined;
  /** The newest last. */
  readonly #lastLaunches: (() => string)[] = [];
  #isClosed = false;
  #lost: DeviceLostError | undefined;

  constructor(driver: CudaDriver, codes?: CodeCache) {
    this.driver = driver;
    this.name = driver.device.name;
    this.#modules = new ModuleCache(driver, codes);
  }

  /** Calls the driver. A failure says what the call was to do. @throws {DeviceLostError} at once if the device was lost before */
  call<T>(work: (driver: CudaDriver) => T, failed: FailedWork = {}): T {
    this.requireAlive();
    try {
      return work(this.driver);
    } catch (error) {
      throw this.#failure(error, failed);
    }
  }

  /** Remembers what the device was given to compute, for the error of a device that is lost over it. */
  launched(describe: () => string): void {
    if (this.#lastLaunches.push(describe) > maxLastLaunches) this.#lastLaunches.shift();
  }

  /** True while work is queued here or under way on the device. */
  get isBusy(): boolean {
    return this.queue.busy || this.#completions.size > 0;
  }

  /**
   * Frees at once if nothing is under way; otherwise in order with queued work, so that the caller's thread does not wait. A loss of the
   * device is kept for later calls.
   */
  release(free: () => void): void {
    if (!this.isBusy) this.quietly(free);
    else void this.queue.enqueue(() => this.quietly(free));
  }

  /** Frees something. A loss of the device is kept for later calls. */
  quietly(free: () => void): void {
    try {
      free();
    } catch (error) {
      this.#note(error);
    }
  }

  requireAlive(): void {
    if (this.#isClosed) throw new DisposedError(`backend cuda on ${this.name}`);
    if (this.#lost !== undefined) throw this.#lost;
  }

  alloc(bytes: number, purpose: Purpose): Allocation {
    // Whole words: kernels write elements of less than 32 bits word by word.
    const size = Math.max(4 * Math.ceil(bytes / 4), smallestAllocation);
    const address = this.call((driver) => driver.alloc(size), { requested: size });
    return { address, bytes, free: this.#counted(purpose, size, () => this.driver.free(address)) };
  }

  /** A block of page-locked memory. Free it when no copy from or to it is under way. */
  allocPinned(bytes: number): PinnedBlock {
    return this.#pinned.take(Math.max(bytes, smallestAllocation));
  }

  /** A block shared by all writes that go through pinned memory: allocating one costs more than the copy. For work inside the queue. */
  staging(bytes: number): PinnedBlock {
    if (this.#staging === undefined || this.#staging.bytes < bytes) {
      this.#staging?.free();
      this.#staging = undefined;
      this.#staging = this.allocPinned(bytes);
    }
    return this.#staging;
  }

  /** Device memory that work inside the queue shares. It is valid until the next call. */
  workspace(bytes: number): Allocation {
    if (this.#workspace === undefined || this.#workspace.bytes < bytes) {
      this.#workspace?.free();
      this.#workspace = undefined;
      this.#workspace = this.alloc(bytes, "other");
    }
    return this.#workspace;
  }

  memory(): MemoryReport {
    return { ...this.#bytes };
  }

  /** The kernel of a module's text, compiled once per text; return it with {@link releaseKernel}. @throws {KernelError} */
  async kernel(op: string, source: KernelSource): Promise<Handle> {
    this.requireAlive();
    try {
      return await this.#modules.acquire(source);
    } catch (error) {
      throw this.#failure(error, { kernel: { op, source } });
    }
  }

  /** {@link kernel} on the caller's thread; while nothing is under way. @throws {KernelError} */
  kernelSync(op: string, source: KernelSource): Handle {
    return this.call(() => this.#modules.acquireSync(source), { kernel: { op, source } });
  }

  /** Resolves when a kernel that is asked for next would load at once. */
  async roomForKernel(): Promise<void> {
    await this.#modules.room();
  }

  releaseKernel(ptx: string): void {
    if (this.#lost === undefined) this.quietly(() => this.#modules.release(ptx));
  }

  /** Records the work that `record` queues as a graph. */
  capture(record: (driver: CudaDriver) => void): Handle {
    return this.call((driver) => {
      driver.beginCapture();
      try {
        record(driver);
      } catch (error) {
        driver.abandonCapture();
        throw error;
      }
      return driver.endCapture();
    });
  }

  /** Resolves when the device has reached `mark` (default: everything that it was given so far). See {@link CudaDriver.finished}. */
  async finished(mark?: Mark, pollMicroseconds?: number): Promise<void> {
    this.requireAlive();
    try {
      await this.driver.finished(mark, pollMicroseconds);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /**
   * Calls `read` when everything that was given to the driver so far is done, and then `settled`, which is called after a failure, too.
   * {@link idle} waits for the result.
   */
  whenFinished<T>(read: () => T, settled: () => void, pollMicroseconds: number): Promise<T> {
    const fail = (error: unknown): never => {
      throw this.#failure(error);
    };
    const result = this.track(this.call((driver) => driver.finished(driver.mark(), pollMicroseconds)).then(read, fail));
    result.then(settled, settled);
    return result;
  }

  /** Makes {@link idle} wait for `completion` too. A failure reaches only callers that await it. */
  track<T>(completion: Promise<T>): Promise<T> {
    this.#completions.add(completion);
    const forget = (): void => {
      this.#completions.delete(completion);
    };
    completion.then(forget, forget);
    return completion;
  }

  /** Frees the memory that is kept for later work; resolves when nothing is queued or under way. */
  async idle(): Promise<void> {
    await this.queue.enqueue(() => this.uploads.clear()).catch(() => undefined);
    await this.queue.enqueue(() => {
      this.#staging?.free();
      this.#staging = undefined;
      this.#workspace?.free();
      this.#workspace = undefined;
    });
    while (this.#completions.size > 0) {
      await Promise.allSettled(this.#completions);
      await this.queue.idle();
    }
    this.quietly(() => this.#pinned.clear());
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.results.settle();
    for (const free of [...this.#live]) free();
    this.#isClosed = true;
    if (this.#lost === undefined) await this.#modules.clear().catch((error: unknown) => this.#note(error));
    try {
      this.driver.close();
    } catch (error) {
      if (this.#lost === undefined) throw this.#failure(error);
    }
  }

  #allocPinned(size: number): PinnedBlock {
    const handle = this.call((driver) => driver.allocPinned(size), { requested: size, isHost: true });
    return { handle, bytes: size, free: this.#counted("other", size, () => this.driver.freePinned(handle)) };
  }

  #counted(purpose: Purpose, bytes: number, free: () => void): () => void {
    this.#bytes[purpose] += bytes;
    const once = (): void => {
      if (!this.#live.delete(once)) return;
      this.#bytes[purpose] -= bytes;
      if (this.#lost !== undefined) return;
      try {
        free();
      } catch (error) {
        // The error of earlier work may surface here: it is kept for the readers of that work and for later calls.
        this.#note(error);
        if (this.#lost === undefined) throw this.#failure(error);
      }
    };
    this.#live.add(once);
    return once;
  }

  #note(error: unknown): void {
    if (this.#lost !== undefined || !isSticky(error)) return;
    const launches = this.#lastLaunches.map((describe) => describe()).join("; then ");
    this.#lost = deviceLost(error, this.name, launches);
  }

  #failure(error: unknown, failed: FailedWork = {}): unknown {
    this.#note(error);
    return this.#lost ?? describeFailure(error, this.name, () => this.#free(), failed);
  }

  /** Free bytes of the device, if the driver still reports them. */
  #free(): number | undefined {
    try {
      return this.driver.memoryInfo().free;
    } catch {
      return undefined;
    }
  }
}
