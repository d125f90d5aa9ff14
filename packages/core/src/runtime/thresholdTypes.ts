import type { OpName } from "../ops/index.ts";

/** Least work of a call for which a backend is worth its fixed costs, for data on the host. */
export interface Threshold {
  /** "never": no amount of work repays the transfer. */
  readonly min: number | "never";
  readonly unit: "flops" | "bytes";
}

/** Time to move data between the host and a backend, in either direction: `latencyUs + bytes / bytesPerUs` microseconds. */
export interface Transfer {
  readonly latencyUs: number;
  /** 1 is 1 MB/s. */
  readonly bytesPerUs: number;
}

/**
 * Thresholds of one backend: by op, else by the op's class. The class is "compute" for ops that do many flops per byte
 * (`AnyOp.computeBound`) and "memory" for all other ops; "program" is for one run of a whole compiled program. Without a
 * threshold, any work is enough. Data that is stored on the backend has no transfer to repay and is not held to them.
 */
export type BackendThresholds = Readonly<Partial<Record<OpName | "compute" | "memory" | "program", Threshold>>> & {
  readonly transfer?: Transfer;
};

/** By backend. Plain data: it can be stored as JSON and read again. */
export type Thresholds = Readonly<Record<string, BackendThresholds | undefined>>;

/** A backend's thresholds with their origin. `pnpm bench calibrate --write` writes them to the backend's package. */
export interface MeasuredThresholds {
  /** The CPU backend that it was compared with. */
  readonly against: string;
  /** The day, as YYYY-MM-DD. */
  readonly measuredAt: string;
  readonly machine: string;
  /** The commit that was measured; empty where it is unknown. */
  readonly commit: string;
  /** How each threshold was chosen, by class. */
  readonly reasons: Readonly<Record<string, string>>;
  readonly thresholds: BackendThresholds;
}
