import type { Ceiling } from "../ceilings/measure.ts";
import type { Commit, Machine } from "../machine.ts";
import type { Bound, Metric, Row, Side, Work } from "../runner/subject.ts";
import type { Estimate, Passes } from "../stats/bootstrap.ts";

/** Number of the receipts' format. */
export const receiptVersion = 1;

/** One run of one suite on one kind of device: everything that a claim made of it needs. */
export interface Receipt {
  readonly version: number;
  readonly suite: string;
  /** Of the suite's start, ISO 8601. */
  readonly date: string;
  readonly commit: Commit;
  readonly machine: Machine;
  /** Of node, v8 and everything that took part. */
  readonly versions: Readonly<Record<string, string>>;
  /** Devices of our backends, as they name themselves. */
  readonly devices: Readonly<Record<string, string>>;
  readonly command: string;
  readonly ceilings: readonly Ceiling[];
  readonly rows: readonly ReceiptRow[];
}

export interface ReceiptRow {
  readonly id: string;
  readonly metric: Metric;
  readonly bound: Bound;
  readonly work: Work;
  readonly data: Row["data"];
  readonly note?: string;
  readonly subjects: readonly ReceiptSubject[];
}

/** A contestant of a row. What is derived from `samples` stands beside them, so that a receipt can be read; a checker recomputes it. */
export interface ReceiptSubject {
  readonly name: string;
  readonly side: Side;
  readonly threads?: number;
  readonly skipped?: string;
  readonly failed?: string;
  /** Seconds per call (bytes in rows quoted in MiB), per pass. */
  readonly samples?: Passes;
  /** Calls per sample. */
  readonly calls?: number;
  readonly time?: Estimate;
  /** How many times as fast this project's subjects are as this peer, by their names. */
  readonly ratios?: Readonly<Record<string, Estimate>>;
}
