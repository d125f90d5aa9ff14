import { CentellaError, DeviceLostError, KernelError, OutOfMemoryError, UnsupportedError } from "@centella/core";
import { DriverError } from "./driver.ts";

const outOfMemory = 2;

/** CUDA refuses every call of a process after a fault of one of its kernels, also on new contexts. */
const newProcess = "CUDA computes again in a new process";

/** Errors after which a CUDA context answers every call with the same error: memory faults, traps, hardware errors, a gone context. */
const sticky: ReadonlySet<number> = new Set([
  4, 46, 201, 214, 219, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 812, 999,
]);

/** Failures of the compiler in the driver, not of the device. */
const compilation: ReadonlySet<number> = new Set([200, 209, 218, 221, 222, 223, 224]);

export function isSticky(error: unknown): error is DriverError {
  return error instanceof DriverError && sticky.has(error.status);
}

/** The error of a device that `error` has ended. `launches` says what it was last given to compute. */
export function deviceLost({ message }: DriverError, device: string, launches: string): DeviceLostError {
  return new DeviceLostError(device, launches === "" ? message : `${message} after ${launches}`, newProcess);
}

/** The error of a device that cannot be opened. Others are used where an earlier kernel's fault has ended CUDA in this process. */
export function describeOpening(error: unknown): unknown {
  return isSticky(error)
    ? new UnsupportedError("cuda", `${error.message}: an earlier kernel of this process failed; ${newProcess}`)
    : error;
}

/** Whether the driver refused a module's text or code. */
export function isCompilation(error: unknown): error is DriverError {
  return error instanceof DriverError && compilation.has(error.status);
}

/** Returns the error for the user of the backend after a failed driver call. Other errors are returned unchanged. */
export function describeFailure(
  error: unknown,
  device: string,
  context: { readonly requested?: number; readonly free?: number } = {},
): unknown {
  if (!(error instanceof DriverError)) return error;
  if (error.status === outOfMemory) return new OutOfMemoryError(device, context.requested ?? 0, context.free);
  if (sticky.has(error.status)) return deviceLost(error, device, "");
  return new CentellaError("cuda", `${device}: ${error.message}`, { cause: error });
}

/** The same for a module of op `op`; the error carries its text and the compiler's log. */
export function describeModuleFailure(error: unknown, device: string, op: string, ptx: string): unknown {
  if (isCompilation(error)) return new KernelError(op, ptx, error.message);
  return describeFailure(error, device);
}
