import { elementAt } from "@centella/quant/checks";
import type { Passes } from "../stats/bootstrap.ts";
import { type Contestant, type Row, Skip, type Subject } from "./subject.ts";

/** How long to measure. */
export interface Settings {
  /** Walks over the whole suite. Samples of one row are spread over them, so that a slow minute does not hit one row alone. */
  readonly passes: number;
  /** Samples of each subject per pass. */
  readonly rounds: number;
  /** A sample repeats its call until it takes about this long. */
  readonly sampleSeconds: number;
  /** Calls before the first sample, at least `warmupCalls`, go on for this long. */
  readonly warmupSeconds: number;
  readonly warmupCalls: number;
}

export const normalSettings: Settings = { passes: 6, rounds: 4, sampleSeconds: 0.03, warmupSeconds: 0.3, warmupCalls: 3 };
export const quickSettings: Settings = { passes: 5, rounds: 2, sampleSeconds: 0.01, warmupSeconds: 0.1, warmupCalls: 3 };

/** Outcome of a contestant. */
export type Outcome =
  | { readonly status: "measured"; readonly passes: Passes; readonly calls: number }
  | { readonly status: "skipped"; readonly reason: string }
  /** It broke, or its result is wrong: the run fails. */
  | { readonly status: "failed"; readonly reason: string };

export interface MeasuredRow {
  readonly row: Row;
  readonly outcomes: readonly { readonly contestant: Contestant; readonly outcome: Outcome }[];
}

/** Called before each row of each pass. */
export type Progress = (done: number, total: number, row: Row) => void;

/** A contestant on its way through the passes. */
interface Entry {
  readonly contestant: Contestant;
  subject: Subject | undefined;
  /** Calls per sample, chosen at the first warm-up. */
  calls: number;
  /** Next buffer set. */
  next: number;
  readonly passes: number[][];
  ended: Exclude<Outcome, { status: "measured" }> | undefined;
}

/** Cheaper calls are made once, untimed, before each sample, because previous work has left its data in the caches. */
const untimedSeconds = 0.05;

/** Limit of a warm-up of slow calls, after which nothing is cold. */
const slowWarmupSeconds = 2;

/**
 * Measures rows: warms each subject up, then in every pass takes samples of all subjects of a row in turn (A B A B …), and
 * checks the results after the last pass.
 */
export async function measureRows(
  rows: readonly Row[],
  settings: Settings,
  progress: Progress = () => undefined,
): Promise<readonly MeasuredRow[]> {
  const measured = rows.map((row) => ({ row, entries: row.contestants.map(entryOf) }));
  try {
    for (let pass = 0; pass < settings.passes; pass++) {
      for (const [index, { row, entries }] of measured.entries()) {
        progress(pass * rows.length + index, rows.length * settings.passes, row);
        await measurePass(row, entries, settings, pass);
      }
    }
  } finally {
    for (const { entries } of measured) for (const entry of entries) await release(entry);
  }
  return measured.map(({ row, entries }) => ({ row, outcomes: entries.map(outcomeOf) }));
}

async function measurePass(row: Row, entries: readonly Entry[], settings: Settings, pass: number): Promise<void> {
  for (const entry of entries) {
    if (entry.subject === undefined) await attempt(entry, async () => prepare(entry, row.isCold === true ? cold(settings) : settings));
    entry.passes.push([]);
  }
  for (let round = 0; round < settings.rounds; round++) {
    for (const entry of entries) {
      await attempt(entry, async (subject) => {
        elementAt(entry.passes, pass).push(await takeSample(entry, subject));
      });
    }
  }
  const isLast = pass === settings.passes - 1;
  for (const entry of entries) {
    if (isLast) {
      await attempt(entry, async (subject) => {
        const result = await subject.result();
        const problem = result && row.verify(result, entry.contestant.side);
        if (problem !== undefined) entry.ended = { status: "failed", reason: `wrong result: ${problem}` };
      });
    }
    if (isLast || row.isLarge || entry.ended !== undefined) await release(entry);
  }
}

function cold(settings: Settings): Settings {
  return { ...settings, warmupCalls: 1, warmupSeconds: 0 };
}

async function prepare(entry: Entry, settings: Settings): Promise<void> {
  const subject = await entry.contestant.prepare();
  entry.subject = subject;
  let total = 0;
  let calls = 0;
  let fastest = Number.POSITIVE_INFINITY;
  while ((calls < settings.warmupCalls && total < slowWarmupSeconds) || total < settings.warmupSeconds) {
    const seconds = await subject.sample(1, entry.next++);
    fastest = Math.min(fastest, seconds);
    total += seconds;
    calls++;
    // The warm-up ends even if a coarse clock shows calls as 0.
    if (calls >= 1_000_000) break;
  }
  if (entry.calls === 0) entry.calls = Math.max(1, Math.min(1_000_000, Math.round(settings.sampleSeconds / Math.max(fastest, 1e-9))));
}

async function takeSample(entry: Entry, subject: Subject): Promise<number> {
  const last = entry.passes.flat().at(-1);
  if (last === undefined || last < untimedSeconds) await subject.sample(1, entry.next++);
  const seconds = await subject.sample(entry.calls, entry.next);
  entry.next += entry.calls;
  return seconds / entry.calls;
}

/** Runs a step of an active contestant. Its error ends the contestant's part, not the run; for a peer it is the reason to skip it. */
async function attempt(entry: Entry, step: (subject: Subject) => Promise<void>): Promise<void> {
  if (entry.ended !== undefined) return;
  try {
    await step(entry.subject!);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    entry.ended = { status: error instanceof Skip || entry.contestant.side === "peer" ? "skipped" : "failed", reason };
  }
}

async function release(entry: Entry): Promise<void> {
  const { subject } = entry;
  entry.subject = undefined;
  await subject?.dispose();
}

function entryOf(contestant: Contestant): Entry {
  return { contestant, subject: undefined, calls: 0, next: 0, passes: [], ended: undefined };
}

function outcomeOf({ contestant, passes, calls, ended }: Entry): MeasuredRow["outcomes"][number] {
  return { contestant, outcome: ended ?? { status: "measured", passes, calls } };
}
