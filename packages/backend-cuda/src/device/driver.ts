import { CentellaError } from "@centella/core";

/** An address in device memory, or a handle that the driver gave out. Opaque. */
export type Handle = bigint;

/** A failed driver call, in CUDA's own names, with the compiler's log if there is one. */
export class DriverError extends CentellaError {
  override name = "DriverError";
  /** `CUresult`, e.g. 2. */
  readonly status: number;
  /** Its name, e.g. "CUDA_ERROR_OUT_OF_MEMORY". */
  readonly statusName: string;
  /** The driver function, e.g. "cuMemAlloc". */
  readonly call: string;
  readonly log: string;
  constructor(status: number, statusName: string, call: string, log = "") {
    super("driver", `${call}: ${statusName} (${status})${log === "" ? "" : `\n${log}`}`);
    this.status = status;
    this.statusName = statusName;
    this.call = call;
    this.log = log;
  }
}

export interface DeviceProperties {
  readonly name: string;
  /** Major and minor, e.g. [9, 0]. */
  readonly computeCapability: readonly [number, number];
  readonly multiprocessors: number;
  readonly totalBytes: number;
  /** Newest CUDA version that the driver serves, e.g. 13000 for 13.0. */
  readonly driverVersion: number;
}

/** A matrix of f16 in device memory. Kernels copy boxes of it to shared memory, whose rows of 128 bytes are swizzled there. */
export interface TensorMap {
  readonly memory: Handle;
  /** Elements of a row. */
  readonly columns: number;
  readonly rows: number;
  /** Rows of a box, up to 256. A box has {@link boxColumns} columns, and zeros where it leaves the matrix. */
  readonly boxRows: number;
}

/** Columns of the boxes of a {@link TensorMap}: 128 bytes. */
export const boxColumns = 64;

/** A kernel with everything that a launch needs. */
export interface LaunchCommand {
  readonly kernel: Handle;
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  readonly sharedBytes: number;
  /** Whether it may start before the launch before it is over. The kernel waits for that launch itself, and lets the next one start. */
  readonly isDependent: boolean;
  /** The first parameters: addresses. */
  readonly args: readonly Handle[];
  /** The memory that the kernel may touch from each address on. Devices ignore it; a driver for tests enforces it. */
  readonly spans: readonly Span[];
  /** The parameters after the addresses. Default: none. */
  readonly maps?: readonly TensorMap[];
}

/** A place in the order of the device's work. */
export type Mark = Handle;

/** Memory that a kernel's parameter points to. */
export interface Span {
  readonly bytes: number;
  /** False: it is read only. */
  readonly isWritten: boolean;
}

/**
 * One device with one stream: the part of CUDA that the backend needs. The native addon implements it over the
 * driver API, the tests with an interpreter. Every call may throw {@link DriverError}.
 */
export interface CudaDriver {
  readonly device: DeviceProperties;

  alloc(bytes: number): Handle;
  free(memory: Handle): void;
  memoryInfo(): { readonly free: number; readonly total: number };

  /** Allocates page-locked host memory: copies to and from it do not block the host. */
  allocPinned(bytes: number): Handle;
  freePinned(memory: Handle): void;
  writePinned(memory: Handle, offset: number, data: Uint8Array): void;
  readPinned(memory: Handle, offset: number, into: Uint8Array): void;
  /** The first bytes of page-locked memory, for the host to read and write without a call. Has no bytes any more after freePinned. */
  viewPinned(memory: Handle, bytes: number): Uint8Array<ArrayBuffer>;

  // The following are queued on the stream, or recorded between beginCapture and endCapture.
  /** Copies from byte `offset` (0) of page-locked memory. */
  copyToDevice(to: Handle, fromPinned: Handle, bytes: number, offset?: number): void;
  /** Copies to byte `offset` (0) of page-locked memory. */
  copyFromDevice(toPinned: Handle, from: Handle, bytes: number, offset?: number): void;
  copyOnDevice(to: Handle, from: Handle, bytes: number): void;
  zero(memory: Handle, bytes: number): void;
  launch(command: LaunchCommand): void;

  beginCapture(): void;
  /** The recorded work as a graph that can be launched again and again. */
  endCapture(): Handle;
  /** Ends a recording that failed. Never throws. */
  abandonCapture(): void;
  launchGraph(graph: Handle): void;
  freeGraph(graph: Handle): void;

  createTimer(): Handle;
  /** Between beginCapture and endCapture: each launch of the graph notes the device's time when it gets here. */
  recordTimer(timer: Handle): void;
  /** Milliseconds between the last recordings of two timers, once the device has reached both. */
  elapsedTime(from: Handle, to: Handle): number;
  freeTimer(timer: Handle): void;

  /** Compiles a module's text to machine code for this device, off the caller's thread. */
  compile(ptx: string): Promise<Uint8Array>;
  /** The same on the caller's thread. */
  compileSync(ptx: string): Uint8Array;
  /** Loads a module and its kernel `entry` off the caller's thread, from its text or from what {@link compile} returned. */
  loadModule(image: string | Uint8Array, entry: string): Promise<Handle>;
  /** The same on the caller's thread. */
  loadModuleSync(image: string | Uint8Array, entry: string): Handle;
  unloadModule(module: Handle): void;
  kernel(module: Handle, entry: string, sharedBytes: number): Handle;

  /** A mark after everything queued so far. Wait for it once with {@link finished}. */
  mark(): Mark;
  /**
   * Resolves in a later turn of the event loop when the device has reached a mark (default: one after everything queued so far); rejects
   * with the device's error. The caller's thread may poll for `pollMicroseconds` (0), in several turns of its event loop, which reports the
   * end of short work sooner. After that, another thread waits.
   */
  finished(mark?: Mark, pollMicroseconds?: number): Promise<void>;
  /** Blocks the caller's thread until everything queued so far is done; throws the device's error. */
  finishedSync(): void;
  /** Releases the stream and the device. */
  close(): void;
}
