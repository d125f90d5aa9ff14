import { UnsupportedError } from "@centella/core";
import {
  boxColumns,
  type CudaDriver,
  type DeviceProperties,
  DriverError,
  type Handle,
  type LaunchCommand,
  type Mark,
} from "./device/driver.ts";
import { describeOpening } from "./device/errors.ts";
import type { DeviceReadings } from "./device/readings.ts";

/** The addon's class: `native/driver.cc`. */
interface NativeSession {
  properties(): {
    readonly name: string;
    readonly major: number;
    readonly minor: number;
    readonly multiprocessors: number;
    readonly totalBytes: number;
    readonly driverVersion: number;
  };
  memoryInfo(): { readonly free: number; readonly total: number };
  alloc(bytes: number): Handle;
  free(memory: Handle): void;
  allocPinned(bytes: number): Handle;
  freePinned(memory: Handle): void;
  writePinned(memory: Handle, offset: number, data: Uint8Array): void;
  readPinned(memory: Handle, offset: number, into: Uint8Array): void;
  viewPinned(memory: Handle, bytes: number): ArrayBuffer;
  detach(view: ArrayBuffer): void;
  copyToDevice(to: Handle, fromPinned: Handle, bytes: number): void;
  copyFromDevice(toPinned: Handle, from: Handle, bytes: number): void;
  copyOnDevice(to: Handle, from: Handle, bytes: number): void;
  zero(memory: Handle, bytes: number): void;
  launch(kernel: Handle, ...sizesAndArgs: [...sizes: LaunchSizes, isDependent: boolean, args: BigUint64Array, maps: BigUint64Array]): void;
  tensorMap(memory: Handle, columns: number, rows: number, boxColumns: number, boxRows: number): BigUint64Array;
  beginCapture(): void;
  endCapture(): Handle;
  abandonCapture(): void;
  launchGraph(graph: Handle): void;
  freeGraph(graph: Handle): void;
  createTimer(): Handle;
  recordTimer(timer: Handle): void;
  elapsedTime(from: Handle, to: Handle): number;
  freeTimer(timer: Handle): void;
  compile(ptx: string): Promise<Uint8Array>;
  compileSync(ptx: string): Uint8Array;
  loadModule(image: string | Uint8Array, entry: string): Promise<Handle>;
  loadModuleSync(image: string | Uint8Array, entry: string): Handle;
  unloadModule(module: Handle): void;
  kernel(module: Handle, entry: string, sharedBytes: number): Handle;
  mark(): Mark;
  reached(mark: Mark, microseconds: number): boolean;
  wait(mark: Mark): Promise<void>;
  synchronize(): void;
  close(): void;
}

/** The event loop may be held up for so long to learn at once that short work is over. */
const maxTurnMicroseconds = 30;

type LaunchSizes = [gridX: number, gridY: number, gridZ: number, blockX: number, blockY: number, blockZ: number, sharedBytes: number];

interface Addon {
  readonly Driver: new (ordinal: number) => NativeSession;
  /** `native/nvml.h` */
  readings(): DeviceReadings | { readonly unavailable: string };
}

// Ampere, which the kernels are generated for.
const lowestCapability = 8;

/**
 * Opens device `ordinal` through the addon.
 * @throws {UnsupportedError} with the reason if there is no addon, driver or fitting device, or if the driver refuses to open the device
 */
export async function openNativeDriver(ordinal: number): Promise<CudaDriver> {
  const { Driver } = loadAddon();
  try {
    return driverOf(new Driver(ordinal));
  } catch (error) {
    if (error instanceof Error && "unavailable" in error) throw new UnsupportedError("cuda", String(error.unavailable));
    throw describeOpening(asDriverError(error));
  }
}

/** The driver of a new session, which is closed if its device does not fit. */
function driverOf(session: NativeSession): CudaDriver {
  try {
    const driver = new NativeDriver(session);
    const { name, computeCapability } = driver.device;
    if (computeCapability[0] >= lowestCapability) return driver;
    throw new UnsupportedError("cuda", `${name} has compute capability ${computeCapability.join(".")}, ${lowestCapability}.0 is needed`);
  } catch (error) {
    session.close();
    throw error;
  }
}

/** Reads what the NVIDIA devices of this machine report, without opening one. @throws {UnsupportedError} if there is no driver or no device */
export async function readDevices(): Promise<DeviceReadings> {
  const readings = loadAddon().readings();
  if ("unavailable" in readings) throw new UnsupportedError("cuda", readings.unavailable);
  return readings;
}

/**
 * The addon of this platform: the one that this package's script has built, or else that of the platform's own package.
 * @throws {UnsupportedError} with the reason if there is none
 */
function loadAddon(): Addon {
  // Not imported: importing starts Node's loader of modules, which takes milliseconds.
  const { createRequire } = process.getBuiltinModule("node:module");
  const require = createRequire(import.meta.url);
  const platform = `${process.platform}-${process.arch}`;
  // The first path is the same from src and from dist.
  const path = ["../build/Release/centella_cuda.node", `@centella/backend-cuda-${platform}`]
    .map((id) => resolved(require, id))
    .find((found) => found !== undefined);
  if (path === undefined) throw new UnsupportedError("cuda", missingAddon(platform));
  try {
    return require(path) as Addon;
  } catch (error) {
    throw new UnsupportedError(
      "cuda",
      `the addon does not load on this platform: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** Why there is no addon for a platform, and what to do. */
export function missingAddon(platform: string): string {
  const missing = `there is no addon for ${platform}`;
  if (!platform.startsWith("linux-")) return `${missing} yet; use another backend, such as webgpu`;
  return `${missing}; install @centella/backend-cuda with its optional dependencies, or build the addon (its README says how)`;
}

function resolved(require: NodeJS.Require, id: string): string | undefined {
  try {
    return require.resolve(id);
  } catch {
    return undefined;
  }
}

function asDriverError(error: unknown): unknown {
  if (!(error instanceof Error) || !("status" in error)) return error;
  const { status, statusName, call, log } = error as Error & { status: number; statusName: string; call: string; log: string };
  return new DriverError(status, statusName, call, log);
}

/** The addon's session as a {@link CudaDriver}: turns its exceptions into {@link DriverError}s. */
class NativeDriver implements CudaDriver {
  readonly device: DeviceProperties;
  readonly #session: NativeSession;
  #lastWait: Promise<unknown> = Promise.resolve();
  readonly #views = new Map<Handle, ArrayBuffer>();

  constructor(session: NativeSession) {
    this.#session = session;
    const { major, minor, ...rest } = this.#do((s) => s.properties());
    this.device = { ...rest, computeCapability: [major, minor] };
  }

  alloc(bytes: number): Handle {
    return this.#do((s) => s.alloc(bytes));
  }

  free(memory: Handle): void {
    this.#do((s) => s.free(memory));
  }

  memoryInfo(): { readonly free: number; readonly total: number } {
    return this.#do((s) => s.memoryInfo());
  }

  allocPinned(bytes: number): Handle {
    return this.#do((s) => s.allocPinned(bytes));
  }

  freePinned(memory: Handle): void {
    this.#detach(memory);
    this.#do((s) => s.freePinned(memory));
  }

  viewPinned(memory: Handle, bytes: number): Uint8Array<ArrayBuffer> {
    const view = this.#views.get(memory) ?? this.#do((s) => s.viewPinned(memory, bytes));
    this.#views.set(memory, view);
    return new Uint8Array(view);
  }

  /** Takes away the bytes of a view, whose memory is about to be freed. */
  #detach(memory: Handle): void {
    const view = this.#views.get(memory);
    if (view !== undefined && this.#views.delete(memory)) this.#do((s) => s.detach(view));
  }

  writePinned(memory: Handle, offset: number, data: Uint8Array): void {
    this.#do((s) => s.writePinned(memory, offset, data));
  }

  readPinned(memory: Handle, offset: number, into: Uint8Array): void {
    this.#do((s) => s.readPinned(memory, offset, into));
  }

  copyToDevice(to: Handle, fromPinned: Handle, bytes: number, offset = 0): void {
    this.#do((s) => s.copyToDevice(to, fromPinned + BigInt(offset), bytes));
  }

  copyFromDevice(toPinned: Handle, from: Handle, bytes: number, offset = 0): void {
    this.#do((s) => s.copyFromDevice(toPinned + BigInt(offset), from, bytes));
  }

  copyOnDevice(to: Handle, from: Handle, bytes: number): void {
    this.#do((s) => s.copyOnDevice(to, from, bytes));
  }

  zero(memory: Handle, bytes: number): void {
    this.#do((s) => s.zero(memory, bytes));
  }

  launch({ kernel, grid, block, sharedBytes, isDependent, args, maps = [] }: LaunchCommand): void {
    this.#do((s) => {
      const encoded = maps.flatMap(({ memory, columns, rows, boxRows }) => [...s.tensorMap(memory, columns, rows, boxColumns, boxRows)]);
      s.launch(kernel, ...grid, ...block, sharedBytes, isDependent, BigUint64Array.from(args), BigUint64Array.from(encoded));
    });
  }

  beginCapture(): void {
    this.#do((s) => s.beginCapture());
  }

  endCapture(): Handle {
    return this.#do((s) => s.endCapture());
  }

  abandonCapture(): void {
    this.#do((s) => s.abandonCapture());
  }

  launchGraph(graph: Handle): void {
    this.#do((s) => s.launchGraph(graph));
  }

  freeGraph(graph: Handle): void {
    this.#do((s) => s.freeGraph(graph));
  }

  createTimer(): Handle {
    return this.#do((s) => s.createTimer());
  }

  recordTimer(timer: Handle): void {
    this.#do((s) => s.recordTimer(timer));
  }

  elapsedTime(from: Handle, to: Handle): number {
    return this.#do((s) => s.elapsedTime(from, to));
  }

  freeTimer(timer: Handle): void {
    this.#do((s) => s.freeTimer(timer));
  }

  async compile(ptx: string): Promise<Uint8Array> {
    return this.#await(this.#do((s) => s.compile(ptx)));
  }

  compileSync(ptx: string): Uint8Array {
    return this.#do((s) => s.compileSync(ptx));
  }

  async loadModule(image: string | Uint8Array, entry: string): Promise<Handle> {
    return this.#await(this.#do((s) => s.loadModule(image, entry)));
  }

  loadModuleSync(image: string | Uint8Array, entry: string): Handle {
    return this.#do((s) => s.loadModuleSync(image, entry));
  }

  unloadModule(module: Handle): void {
    this.#do((s) => s.unloadModule(module));
  }

  kernel(module: Handle, entry: string, sharedBytes: number): Handle {
    return this.#do((s) => s.kernel(module, entry, sharedBytes));
  }

  mark(): Mark {
    return this.#do((s) => s.mark());
  }

  finished(mark: Mark = this.mark(), pollMicroseconds = 0): Promise<void> {
    // One wait at a time: each blocks a thread of Node's pool, which also reads files. Marks are reached in order.
    const wait = this.#lastWait.then(() => this.#reached(mark, pollMicroseconds));
    this.#lastWait = wait.catch(() => undefined);
    return wait;
  }

  async #reached(mark: Mark, pollMicroseconds: number): Promise<void> {
    for (let left = pollMicroseconds; left > 0; left -= maxTurnMicroseconds) {
      // Callers that await one short run after the other must not keep timers and files from their turn.
      await new Promise<void>((resolve) => void setImmediate(resolve));
      if (this.#do((s) => s.reached(mark, Math.min(left, maxTurnMicroseconds)))) return;
    }
    await this.#await(this.#do((s) => s.wait(mark)));
  }

  finishedSync(): void {
    this.#do((s) => s.synchronize());
  }

  close(): void {
    for (const memory of [...this.#views.keys()]) this.#detach(memory);
    this.#do((s) => s.close());
  }

  #do<T>(work: (session: NativeSession) => T): T {
    try {
      return work(this.#session);
    } catch (error) {
      throw asDriverError(error);
    }
  }

  async #await<T>(promise: Promise<T>): Promise<T> {
    try {
      return await promise;
    } catch (error) {
      throw asDriverError(error);
    }
  }
}
