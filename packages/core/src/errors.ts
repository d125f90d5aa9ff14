import { CentellaError } from "@centella/quant";
import { sentence } from "@centella/quant/checks";

export { ArgumentError, CentellaError, DisposedError } from "@centella/quant";

/** A shape that an op, a plan input or a persistent cannot accept. */
export class ShapeError extends CentellaError {
  override name = "ShapeError";
  constructor(where: string, expected: string, got: string, fix?: string) {
    super("shape", sentence(where, expected, got, fix));
  }
}

/** A dtype that an op cannot accept, or data of the wrong array type. */
export class DTypeError extends CentellaError {
  override name = "DTypeError";
  constructor(where: string, expected: string, got: string, fix?: string) {
    super("dtype", sentence(where, expected, got, fix));
  }
}

/** The recorder or a plan was used against its rules: mixed programs, stale versions, unloaded persistents. */
export class ProgramError extends CentellaError {
  override name = "ProgramError";
  constructor(message: string) {
    super("program", message);
  }
}

/** Something that this backend, device or file does not support. `reason` says why. */
export class UnsupportedError extends CentellaError {
  override name = "UnsupportedError";
  readonly reason: string;
  constructor(what: string, reason: string) {
    super("unsupported", `${what}: unsupported: ${reason}`);
    this.reason = reason;
  }
}

/**
 * Code that a backend fetches when it is first needed is not available: it must be awaited, or could not be fetched. Nothing was computed,
 * so a runtime tries the next backend.
 */
export class NotLoadedError extends UnsupportedError {
  override name = "NotLoadedError";
  constructor(what: string, reason: string, options?: ErrorOptions) {
    super(what, reason);
    this.cause = options?.cause;
  }
}

/**
 * An allocation that a device or the host refused. Sizes are in bytes. `requested` is undefined if a device needed memory for its own work and
 * does not report how much, `free` if it is not known. `limit` is set where the device allows no tensor of the size, regardless of its free
 * memory.
 */
export class OutOfMemoryError extends CentellaError {
  override name = "OutOfMemoryError";
  readonly requested: number | undefined;
  readonly free: number | undefined;
  readonly limit: number | undefined;
  readonly device: string;
  /** @param free free bytes, or the device's limit for one tensor and the name of what is larger ("input x") */
  constructor(
    device: string,
    requested: number | undefined,
    free?: number | { readonly limit: number; readonly tensor?: string },
    fix = "use a smaller model, a shorter context or another backend",
  ) {
    super("outOfMemory", typeof free === "object" ? overLimit(device, requested, free, fix) : noMemory(device, requested, free, fix));
    this.requested = requested;
    this.free = typeof free === "object" ? undefined : free;
    this.limit = typeof free === "object" ? free.limit : undefined;
    this.device = device;
  }
}

function noMemory(device: string, requested: number | undefined, free: number | undefined, fix: string): string {
  const got = free ?? (requested === undefined ? "too few" : "less");
  return sentence(device, `${requested ?? "more"} bytes of free memory`, String(got), fix);
}

function overLimit(
  device: string,
  requested: number | undefined,
  { limit, tensor }: { readonly limit: number; readonly tensor?: string },
  fix: string,
): string {
  const got = `${requested ?? "more"}${tensor === undefined ? "" : ` for ${tensor}`}`;
  return sentence(device, `at most ${limit} bytes for one tensor on this device`, got, fix);
}

/** The device is gone (driver reset, sticky GPU error, `destroy()`). Every pending and later call on it fails with this error. */
export class DeviceLostError extends CentellaError {
  override name = "DeviceLostError";
  constructor(device: string, reason: string, fix = "create the backend again and reload the model") {
    super("deviceLost", `${device}: the device was lost: ${reason}; ${fix}`);
  }
}

/** A generated kernel that its compiler or the device rejected. */
export class KernelError extends CentellaError {
  override name = "KernelError";
  readonly op: string;
  readonly source: string;
  readonly log: string;
  constructor(op: string, source: string, log: string) {
    super("kernel", `${op}: the generated kernel failed: ${log.trim() || "no log"}; this is a bug in the backend, please report it`);
    this.op = op;
    this.source = source;
    this.log = log;
  }
}
