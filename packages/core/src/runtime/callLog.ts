import { check, isRecord, type Kind, kind } from "@centella/quant/checks";
import type { Counters } from "../backend/backend.ts";
import { type Candidate, formatRejection, type Selection } from "./select.ts";
import { textTable } from "./textTable.ts";

/** Calls of one op on one backend, for one reason. */
export interface CallSummary {
  /** An op's name; "lazy" for chains of lazy tensors, "program" for runs of compiled programs. */
  readonly op: string;
  readonly backend: string;
  /** Why that backend was chosen: the selection's reason, then the reasons against the backends before it. */
  readonly reason: string;
  readonly calls: number;
  /** Calls that raised an error. */
  readonly failed: number;
  /** Milliseconds that the calls took on the caller's thread. With `policy.trace`, until their results were available. */
  readonly ms: number;
  /** Bytes of inputs that were stored on other devices. */
  readonly bytesMoved: number;
}

/** What a runtime has done so far: plain data. */
export interface RuntimeReport {
  readonly backends: readonly {
    readonly name: string;
    /** The device's name, or why the backend is not available. */
    readonly device: string;
    readonly isOpen: boolean;
    /** Counts since the backend was opened. */
    readonly counters?: Counters;
  }[];
  /** Sorted by time, longest first. */
  readonly calls: readonly CallSummary[];
}

/** The running sums of one row of the report. */
export interface Tally {
  readonly op: string;
  readonly backend: string;
  readonly reason: string;
  calls: number;
  failed: number;
  ms: number;
  bytesMoved: number;
}

/** Which op ran where, how often and why. */
export class CallLog {
  readonly #tallies = new Map<string, Tally>();

  /** The sums that calls of an op with this selection are added to. */
  tallyOf(op: string, { backend, reason: why, rejected }: Selection): Tally {
    const reason = [why, ...rejected.map(formatRejection)].join("; ");
    const key = JSON.stringify([op, backend.name, reason]);
    let tally = this.#tallies.get(key);
    if (tally === undefined) {
      tally = { op, backend: backend.name, reason, calls: 0, failed: 0, ms: 0, bytesMoved: 0 };
      this.#tallies.set(key, tally);
    }
    return tally;
  }

  report(candidates: readonly Candidate[]): RuntimeReport {
    return {
      backends: candidates.map(({ name, backend, unavailable }) => ({
        name,
        device: backend?.device.name ?? unavailable!,
        isOpen: backend !== undefined,
        ...(backend && { counters: structuredClone(backend.counters) }),
      })),
      calls: [...this.#tallies.values()]
        .filter(({ calls }) => calls > 0)
        .map((tally) => ({ ...tally }))
        .sort((a, b) => b.ms - a.ms),
    };
  }
}

/** Wraps a function so that its calls are counted. */
export function counted<Args extends readonly unknown[], Result>(tally: Tally, run: (...args: Args) => Result): (...args: Args) => Result {
  return (...args) => {
    const start = performance.now();
    tally.calls++;
    try {
      return run(...args);
    } catch (error) {
      tally.failed++;
      throw error;
    } finally {
      tally.ms += performance.now() - start;
    }
  };
}

const reportKind: Kind = kind(
  "what runtime.report() returns",
  (value) => isRecord(value) && Array.isArray(value.backends) && Array.isArray(value.calls),
);

/** Formats a report as text for a terminal. */
export function formatReport(report: RuntimeReport): string {
  const { backends, calls } = check("formatReport", "report", report, reportKind);
  const devices = [
    ["backend", "open", "uploads", "submits", "readbacks", "device"],
    ...backends.map(({ name, device, isOpen, counters }) => [
      name,
      isOpen ? "yes" : "no",
      counters?.uploads ?? 0,
      counters?.submits ?? 0,
      counters?.readbacks ?? 0,
      device,
    ]),
  ];
  const rows = [
    ["op", "backend", "calls", "failed", "ms", "bytes moved", "why"],
    ...calls.map(({ op, backend, reason, calls: count, failed, ms, bytesMoved }) => [op, backend, count, failed, ms, bytesMoved, reason]),
  ];
  return `${textTable(devices)}\n\n${textTable(rows)}\n`;
}
