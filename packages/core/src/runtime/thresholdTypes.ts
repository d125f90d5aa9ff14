import type { OpName } from "../ops/index.ts";

/** Least work of a call for which a backend is worth its fixed costs, for data on the host. */
export interface Threshold {
  /** "never": no amount of work repays the transfer. */
  readonly min: number | "never";
  readonly unit: "flops" | "bytes";
}

/** What moving data between the host and a backend costs, in either direction: `latencyUs + bytes / bytesPerUs` microseconds. */
export interface Transfer {
  readonly latencyUs: number;
  /** 1 is 1 MB/s. */
  readonly bytesPerUs: number;
}

/**
 * What is known about one backend. Thresholds go by op, else by the op's class: "compute" for ops that do many flops per byte
 * (`AnyOp.computeBound`), "memory" for the others; "program" is for a whole compiled program per run. Where there is none,
 * any work is enough.
 */
export type BackendThresholds = Readonly<Partial<Record<OpName | "compute" | "memory" | "program", Threshold>>> & {
  readonly transfer?: Transfer;
};

/** By backend. Plain data: it can be stored as JSON and read again. */
export type Thresholds = Readonly<Record<string, BackendThresholds | undefined>>;
