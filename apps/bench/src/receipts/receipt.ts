import type { Ceiling } from "../ceilings/measure.ts";
import type { Commit, Machine } from "../machine.ts";
import type { Bound, Metric, Row, Side, Work } from "../runner/subject.ts";
import type { Estimate, Passes } from "../stats/bootstrap.ts";

/** Version of the format of receipts. */
export const receiptVersion = 1;

/** One run of one suite on one kind of device, with all data that supports a claim. */
export interface Receipt {
  readonly version: number;
  readonly suite: string;
  /** Time of the suite's start, ISO 8601. */
  readonly date: string;
  readonly commit: Commit;
  readonly machine: Machine;
  /** Versions of node, v8 and all contestants. */
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

/** A contestant of a row. Figures derived from `samples` are stored too, so that people can read a receipt; a checker recomputes them. */
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
  /** Speed of this project's subjects relative to this peer, by name of the subject. */
  readonly ratios?: Readonly<Record<string, Estimate>>;
}
