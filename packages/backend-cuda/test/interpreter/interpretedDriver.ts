import {
  type CudaDriver,
  type DeviceProperties,
  DriverError,
  type Handle,
  type LaunchCommand,
  type Mark,
} from "../../src/device/driver.ts";
import { prepare, runGrid } from "./execute.ts";
import { Fault, GlobalMemory, type Region } from "./memory.ts";
import { randomOf } from "./random.ts";

type Work = () => void;

/** Tests must pass with any seed. */
const defaultSeed = Number(process.env.CENTELLA_PTX_SEED ?? 1);

/**
 * A CUDA device in software: runs the generated PTX thread by thread and checks every access. Work is queued and runs
 * when somebody waits for it, as late as a real device might.
 */
export class InterpretedDriver implements CudaDriver {
  readonly device: DeviceProperties;
  readonly memory = new GlobalMemory();
  /** Number of graph launches, kernel launches outside graphs, and copies in each direction: for tests of the counters. */
  readonly submitted = { graphs: 0, launches: 0, toDevice: 0, fromDevice: 0 };
  /** Bytes that were copied to the host. */
  bytesFromDevice = 0;
  readonly #random: () => number;
  /** Page-locked memory of the host, which kernels reach at the same addresses. */
  readonly #pinned = new Map<Handle, Region>();
  readonly #graphs = new Map<Handle, readonly Work[]>();
  readonly #kernels = new Map<Handle, { readonly module: Handle; readonly ptx: string; readonly tables: readonly number[] }>();
  readonly #modules = new Map<Handle, string>();
  /** The device's time: each launch of a kernel takes a millisecond, and nothing else takes any time. */
  #milliseconds = 0;
  /** When each timer was last reached. */
  readonly #timers = new Map<Handle, number | undefined>();
  #queue: Work[] = [];
  #capture: Work[] | undefined;
  #lost: DriverError | undefined;
  #handles = 1n;

  /** Blocks and warps run in an order that `seed` gives. */
  constructor(computeCapability: DeviceProperties["computeCapability"] = [9, 0], seed = defaultSeed) {
    this.#random = randomOf(seed);
    this.device = { name: "PTX interpreter", computeCapability, multiprocessors: 3, totalBytes: 2 ** 30, driverVersion: 12040 };
  }

  alloc(bytes: number): Handle {
    this.#check();
    if (this.memory.live + bytes > this.device.totalBytes) throw new DriverError(2, "CUDA_ERROR_OUT_OF_MEMORY", "cuMemAlloc");
    return BigInt(this.memory.alloc(bytes));
  }

  free(memory: Handle): void {
    this.#drain();
    this.memory.free(Number(memory));
  }

  memoryInfo(): { readonly free: number; readonly total: number } {
    return { free: this.device.totalBytes - this.memory.live, total: this.device.totalBytes };
  }

  allocPinned(bytes: number): Handle {
    const region = this.memory.allocHost(bytes);
    const handle = BigInt(region.base);
    this.#pinned.set(handle, region);
    return handle;
  }

  freePinned(memory: Handle): void {
    this.#drain();
    this.memory.free(Number(memory));
    this.#pinned.delete(memory);
  }

  writePinned(memory: Handle, offset: number, data: Uint8Array): void {
    const region = this.#pinned.get(memory)!;
    region.bytes.set(data, offset);
    this.#touched(region, offset, data.length);
  }

  readPinned(memory: Handle, offset: number, into: Uint8Array): void {
    into.set(this.#pinned.get(memory)!.bytes.subarray(offset, offset + into.length));
  }

  viewPinned(memory: Handle, bytes: number): Uint8Array<ArrayBuffer> {
    const region = this.#pinned.get(memory)!;
    // The host may write there at any time.
    this.#touched(region, 0, bytes);
    return region.bytes.subarray(0, bytes);
  }

  copyToDevice(to: Handle, fromPinned: Handle, bytes: number, from = 0): void {
    this.#submit(() => {
      this.submitted.toDevice++;
      const region = this.memory.region(Number(to), bytes, () => "copyToDevice");
      const offset = Number(to) - region.base;
      region.bytes.set(this.#pinned.get(fromPinned)!.bytes.subarray(from, from + bytes), offset);
      this.#touched(region, offset, bytes);
    });
  }

  copyFromDevice(toPinned: Handle, from: Handle, bytes: number, to = 0): void {
    this.#submit(() => {
      this.submitted.fromDevice++;
      this.bytesFromDevice += bytes;
      const region = this.memory.region(Number(from), bytes, () => "copyFromDevice");
      const offset = Number(from) - region.base;
      this.#pinned.get(toPinned)!.bytes.set(region.bytes.subarray(offset, offset + bytes), to);
    });
  }

  copyOnDevice(to: Handle, from: Handle, bytes: number): void {
    this.#submit(() => {
      const source = this.memory.region(Number(from), bytes, () => "copyOnDevice");
      const start = Number(from) - source.base;
      const copy = source.bytes.slice(start, start + bytes);
      const region = this.memory.region(Number(to), bytes, () => "copyOnDevice");
      region.bytes.set(copy, Number(to) - region.base);
      this.#touched(region, Number(to) - region.base, bytes);
    });
  }

  zero(memory: Handle, bytes: number): void {
    this.#submit(() => {
      const region = this.memory.region(Number(memory), bytes, () => "zero");
      const offset = Number(memory) - region.base;
      region.bytes.fill(0, offset, offset + bytes);
      this.#touched(region, offset, bytes);
    });
  }

  launch({ kernel, grid, block, sharedBytes, isDependent, args, spans, maps = [] }: LaunchCommand): void {
    const { ptx, tables } = this.#kernels.get(kernel)!;
    const params = args.map(Number);
    const reach = [
      ...params.map((begin, i) => {
        const { bytes, isWritten } = spans[i]!;
        return { begin, end: begin + bytes, isWritten, isRead: !isWritten || !this.memory.isOfHost(begin) };
      }),
      ...tables.map((begin, i) => ({
        begin,
        end: begin + this.memory.region(begin, 1, () => "table").size,
        isWritten: prepare(ptx).parsed.tables[i]?.isWritten ?? false,
        isRead: true,
      })),
    ];
    if (Math.min(...grid) < 1) throw new DriverError(1, "CUDA_ERROR_INVALID_VALUE", "cuLaunchKernel", `grid ${grid.join(", ")}`);
    const { cluster } = prepare(ptx).parsed;
    if (grid.some((blocks, axis) => blocks % cluster[axis]! !== 0))
      throw new DriverError(912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "cuLaunchKernelEx", `grid ${grid.join(", ")}`);
    if (this.#capture === undefined) this.submitted.launches++;
    this.#submit(() => {
      this.#milliseconds++;
      runGrid(this.memory, prepare(ptx), {
        grid,
        block: block[0],
        sharedBytes,
        isDependent,
        params,
        tables,
        reach,
        maps,
        random: this.#random,
      });
    });
  }

  beginCapture(): void {
    this.#check();
    this.#capture = [];
  }

  endCapture(): Handle {
    const handle = this.#handles++;
    this.#graphs.set(handle, this.#capture!);
    this.#capture = undefined;
    return handle;
  }

  abandonCapture(): void {
    this.#capture = undefined;
  }

  launchGraph(graph: Handle): void {
    const work = this.#graphs.get(graph)!;
    this.#submit(() => {
      this.submitted.graphs++;
      this.memory.firstEpoch = this.memory.epoch + 1;
      for (const item of work) item();
    });
  }

  freeGraph(graph: Handle): void {
    this.#drain();
    this.#graphs.delete(graph);
  }

  /** Number of timers that were not freed. */
  get liveTimers(): number {
    return this.#timers.size;
  }

  createTimer(): Handle {
    const handle = this.#handles++;
    this.#timers.set(handle, undefined);
    return handle;
  }

  recordTimer(timer: Handle): void {
    if (this.#capture === undefined) throw new DriverError(1, "CUDA_ERROR_INVALID_VALUE", "cuEventRecordWithFlags");
    this.#submit(() => this.#timers.set(timer, this.#milliseconds));
  }

  elapsedTime(from: Handle, to: Handle): number {
    const [start, end] = [this.#timers.get(from), this.#timers.get(to)];
    if (start === undefined || end === undefined) throw new DriverError(400, "CUDA_ERROR_INVALID_HANDLE", "cuEventElapsedTime");
    return end - start;
  }

  freeTimer(timer: Handle): void {
    this.#timers.delete(timer);
  }

  /** Machine code of the interpreter is the text. */
  async compile(ptx: string): Promise<Uint8Array> {
    return this.compileSync(ptx);
  }

  compileSync(ptx: string): Uint8Array {
    return new TextEncoder().encode(ptx);
  }

  async loadModule(image: string | Uint8Array): Promise<Handle> {
    return this.loadModuleSync(image);
  }

  loadModuleSync(image: string | Uint8Array): Handle {
    const ptx = typeof image === "string" ? image : new TextDecoder().decode(image);
    this.#check();
    const handle = this.#handles++;
    try {
      prepare(ptx);
    } catch (error) {
      throw new DriverError(218, "CUDA_ERROR_INVALID_PTX", "cuModuleLoadDataEx", error instanceof Error ? error.message : "");
    }
    this.#modules.set(handle, ptx);
    return handle;
  }

  unloadModule(module: Handle): void {
    this.#drain();
    this.#modules.delete(module);
    for (const [handle, kernel] of this.#kernels) {
      if (kernel.module !== module) continue;
      for (const table of kernel.tables) this.memory.free(table);
      this.#kernels.delete(handle);
    }
  }

  kernel(module: Handle, entry: string): Handle {
    const ptx = this.#modules.get(module)!;
    const kernel = prepare(ptx);
    if (kernel.parsed.entry !== entry) throw new DriverError(500, "CUDA_ERROR_NOT_FOUND", "cuLibraryGetKernel", entry);
    const tables = kernel.parsed.tables.map(({ type, values }) => {
      const bytes = type === "f32" ? new Uint8Array(new Float32Array(values).buffer) : new Uint8Array(new Uint32Array(values).buffer);
      const base = this.memory.alloc(bytes.length);
      const region = this.memory.region(base, bytes.length, () => "table");
      region.bytes.set(bytes);
      this.#touched(region, 0, bytes.length);
      return base;
    });
    const handle = this.#handles++;
    this.#kernels.set(handle, { module, ptx, tables });
    return handle;
  }

  mark(): Mark {
    return this.#handles++;
  }

  async finished(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.finishedSync();
  }

  finishedSync(): void {
    this.#drain();
    this.#check();
  }

  close(): void {
    this.#drain();
  }

  #submit(work: Work): void {
    this.#check();
    if (this.#capture === undefined) this.#queue.push(work);
    else this.#capture.push(work);
  }

  #check(): void {
    if (this.#lost !== undefined) throw this.#lost;
  }

  #drain(): void {
    const queue = this.#queue;
    this.#queue = [];
    for (const work of queue) {
      if (this.#lost !== undefined) return;
      try {
        work();
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        this.#lost = new DriverError(700, "CUDA_ERROR_ILLEGAL_ADDRESS", "cuEventSynchronize", error.message);
      }
    }
  }

  #touched(region: Region, offset: number, bytes: number): void {
    region.written.fill(1, offset >> 1, Math.ceil((offset + bytes) / 2));
    region.writer.fill(0, offset >> 1, Math.ceil((offset + bytes) / 2));
  }
}
