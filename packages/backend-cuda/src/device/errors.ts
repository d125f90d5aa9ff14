import { CentellaError, DeviceLostError, KernelError, OutOfMemoryError, UnsupportedError } from "@centella/core";
import { DriverError } from "./driver.ts";

const outOfMemory = 2;

/** CUDA refuses every call of a process after a fault of one of its kernels, also on new contexts. */
const newProcess = "CUDA computes again in a new process";

/** Errors after which a CUDA context answers every call with the same error: memory faults, traps, hardware errors, a gone context. */
const sticky: ReadonlySet<number> = new Set([
  4, 46, 201, 214, 219, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 812, 999,
]);

const earlierFault = `an earlier kernel of this process failed; ${newProcess}`;

/** What a status means when a device is opened. */
const openingFailures: ReadonlyMap<number, string> = new Map([
  [outOfMemory, "the memory of the GPU is taken by other processes, which nvidia-smi lists"],
  [46, "the GPU is in exclusive mode and another process has it; end that process, or reset the mode with nvidia-smi -c DEFAULT"],
]);

/** Failures of the compiler in the driver, not of the device. */
const compilation: ReadonlySet<number> = new Set([200, 209, 218, 221, 222, 223, 224]);

/** What the author of a custom op can do about a kernel that the driver refuses, by the call and its status. */
const customAdvice: Readonly<Record<string, string>> = {
  "cuLibraryGetKernel 500": "the text has no kernel of the name `entry`",
  "cuFuncSetAttribute 1": "`sharedBytes` is more than a block of this GPU may have",
  "cuTensorMapEncodeTiled 1": "check `columns`, `rows` and `boxRows` of its `maps`",
  "cuLaunchKernelEx 1": "check its `grid`, `block` and `sharedBytes`",
  "cuLaunchKernelEx 701": "a block has too many threads for its registers and shared memory: use fewer threads or less of both",
};

export function isSticky(error: unknown): error is DriverError {
  return error instanceof DriverError && sticky.has(error.status);
}

/** The error of a device that `error` has ended. `launches` says what it was last given to compute. */
export function deviceLost({ message }: DriverError, device: string, launches: string): DeviceLostError {
  return new DeviceLostError(device, launches === "" ? message : `${message} after ${launches}`, newProcess);
}

/** Returns the error of a device that cannot be opened, from which a runtime goes on to the next backend. Errors of other kinds are unchanged. */
export function describeOpening(error: unknown): unknown {
  if (!(error instanceof DriverError)) return error;
  const reason = openingFailures.get(error.status) ?? (isSticky(error) ? earlierFault : undefined);
  return new UnsupportedError("cuda", reason === undefined ? error.message : `${error.message}: ${reason}`);
}

/** Whether the driver refused a module's text or code. */
export function isCompilation(error: unknown): error is DriverError {
  return error instanceof DriverError && compilation.has(error.status);
}

/** What a failed driver call was to do. */
export interface FailedWork {
  /** Bytes that it was to allocate. */
  readonly requested?: number;
  /** Whether they are page-locked memory of the host. Default: memory of the device. */
  readonly isHost?: boolean;
  /** The kernel that it was to load or to launch, and its op. */
  readonly kernel?: { readonly op: string; readonly source: { readonly ptx: string; readonly isCustom?: boolean } };
}

/**
 * Returns the error for the user of the backend after a failed driver call. Other errors are returned unchanged. `free` returns the bytes that
 * are free on the device, if they are known.
 */
export function describeFailure(error: unknown, device: string, free: () => number | undefined, work: FailedWork): unknown {
  if (!(error instanceof DriverError)) return error;
  const { kernel } = work;
  if (kernel !== undefined && isCompilation(error)) return new KernelError(kernel.op, kernel.source.ptx, error.message);
  if (error.status === outOfMemory) return refusedMemory(error, device, free, work);
  const where = kernel === undefined ? device : `${device}: ${kernel.op}`;
  const advice = kernel?.source.isCustom === true ? customAdvice[`${error.call} ${error.status}`] : undefined;
  return new CentellaError("cuda", `${where}: ${error.message}${advice === undefined ? "" : `; ${advice}`}`, { cause: error });
}

function refusedMemory({ call }: DriverError, device: string, free: () => number | undefined, work: FailedWork): OutOfMemoryError {
  const { requested, isHost = false } = work;
  if (isHost) {
    const fix = `the driver refused page-locked memory for copies to and from ${device}; free memory of the host, or use a smaller model`;
    return new OutOfMemoryError("host", requested, undefined, fix);
  }
  if (requested !== undefined) return new OutOfMemoryError(device, requested, free());
  const fix = `${call} does not report how many; use a smaller model, a shorter context or another backend`;
  return new OutOfMemoryError(device, undefined, free(), fix);
}
