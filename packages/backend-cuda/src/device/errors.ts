import { CentellaError, DeviceLostError, KernelError, OutOfMemoryError } from "@centella/core";
import { DriverError } from "./driver.ts";

const outOfMemory = 2;

/** Errors after which a CUDA context answers every call with the same error: memory faults, traps, hardware errors, a gone context. */
const sticky: ReadonlySet<number> = new Set([
  4, 46, 201, 214, 219, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 812, 999,
]);

/** Failures of the compiler in the driver, not of the device. */
const compilation: ReadonlySet<number> = new Set([200, 209, 218, 221, 222, 223, 224]);

export function isSticky(error: unknown): error is DriverError {
  return error instanceof DriverError && sticky.has(error.status);
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
  if (sticky.has(error.status)) return new DeviceLostError(device, error.message);
  return new CentellaError("cuda", `${device}: ${error.message}`, { cause: error });
}

/** The same for a module of op `op`; the error carries its text and the compiler's log. */
export function describeModuleFailure(error: unknown, device: string, op: string, ptx: string): unknown {
  if (isCompilation(error)) return new KernelError(op, ptx, error.message);
  return describeFailure(error, device);
}
