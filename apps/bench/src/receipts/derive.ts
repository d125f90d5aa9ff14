import type { Metric, Work } from "../runner/subject.ts";
import { type Estimate, estimateMedian, estimateRatio } from "../stats/bootstrap.ts";
import { seedOf } from "../stats/random.ts";
import type { ReceiptRow, ReceiptSubject } from "./receipt.ts";

/** A row with medians, intervals and ratios computed from its samples, which replace any previous ones. */
export function deriveRow(suite: string, row: ReceiptRow): ReceiptRow {
  const seed = (name: string): number => seedOf(`${suite}/${row.id}/${name}`);
  const mine = row.subjects.filter(({ side, samples }) => side === "ours" && samples !== undefined);
  const subjects = row.subjects.map(({ time: _time, ratios: _ratios, ...subject }): ReceiptSubject => {
    const { samples } = subject;
    if (samples === undefined) return subject;
    const derived = { ...subject, time: rounded(estimateMedian(samples, seed(subject.name))) };
    if (subject.side === "ours") return derived;
    const ratios = mine.map(
      ({ name, samples: own }) => [name, rounded(estimateRatio(own!, samples, seed(`${name}/${subject.name}`)))] as const,
    );
    return ratios.length === 0 ? derived : { ...derived, ratios: Object.fromEntries(ratios) };
  });
  return { ...row, subjects };
}

/** A time in the row's metric; rates turn the interval's bounds around. */
export function quoted(metric: Metric, work: Work, { median, low, high }: Estimate): Estimate {
  const convert = converter(metric, work);
  const [first, second] = [convert(low), convert(high)];
  return { median: convert(median), low: Math.min(first, second), high: Math.max(first, second) };
}

function converter(metric: Metric, { flops = 0, bytes = 0, tokens = 0, ops = 1 }: Work): (seconds: number) => number {
  switch (metric) {
    case "GFLOP/s":
      return (seconds) => flops / seconds / 1e9;
    case "GB/s":
      return (seconds) => bytes / seconds / 1e9;
    case "MB/s":
      return (seconds) => bytes / seconds / 1e6;
    case "tokens/s":
      return (seconds) => tokens / seconds;
    case "µs":
      return (seconds) => seconds * 1e6;
    case "µs/op":
      return (seconds) => (seconds / ops) * 1e6;
    case "ms":
      return (seconds) => seconds * 1e3;
    case "MiB":
      return (bytesHeld) => bytesHeld / 2 ** 20;
  }
}

/** Six digits are finer than any interval, and keep receipts short. */
function rounded({ median, low, high }: Estimate): Estimate {
  return { median: digits(median), low: digits(low), high: digits(high) };
}

/** Six significant digits. */
export function digits(value: number): number {
  return Number(value.toPrecision(6));
}
