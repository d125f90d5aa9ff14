import { elementAt } from "@centella/quant/checks";
import { type Ceiling, ceilingFor, ceilingRate } from "./ceilings/measure.ts";
import { digits, quoted } from "./receipts/derive.ts";
import type { Receipt, ReceiptRow, ReceiptSubject } from "./receipts/receipt.ts";
import { type Estimate, verdictOf } from "./stats/bootstrap.ts";
import { formatTable } from "./table.ts";

/** A receipt as a Markdown table: one line per row and subject, losses like wins. */
export function receiptTable({ suite, rows, ceilings }: Pick<Receipt, "suite" | "rows" | "ceilings">): string {
  const hasNotes = rows.some(({ note }) => note !== undefined);
  const head = [suite, "subject", "median", "95 % interval", "of ceiling", "ours against it", ...(hasNotes ? ["note"] : [])];
  const lines = rows.flatMap((row) =>
    row.subjects.map((subject, i) => [...lineOf(row, subject, ceilings, i === 0), ...(hasNotes ? [i === 0 ? (row.note ?? "") : ""] : [])]),
  );
  return formatTable(head, lines, ["left", "left", "right", "right", "right", "left", ...(hasNotes ? (["left"] as const) : [])]);
}

/**
 * Rates of models in the columns of llama.cpp's llama-bench, so that both can be compared line by line. Has medians and half of the 95 %
 * interval in place of llama-bench's means and standard deviations.
 */
export function llamaBenchShape({ rows }: Pick<Receipt, "rows">): string {
  const lines = rows.flatMap(({ id, metric, work, subjects }) => {
    if (metric !== "tokens/s") return [];
    const [model, ...test] = id.replace(" [gpu]", "").split(" ");
    return subjects.flatMap(({ name, threads, time }) => {
      if (time === undefined) return [];
      const { median, low, high } = quoted(metric, work, time);
      return [
        [
          model!,
          name,
          threads === undefined ? "-" : String(threads),
          test.join(" "),
          `${median.toFixed(2)} ± ${((high - low) / 2).toFixed(2)}`,
        ],
      ];
    });
  });
  return formatTable(["model", "backend", "threads", "test", "t/s"], lines, ["left", "left", "right", "right", "right"]);
}

/** Ceilings as one line each. */
export function ceilingLines(ceilings: readonly Ceiling[]): readonly string[] {
  return ceilings.map((ceiling) => {
    const { median, low, high } = ceilingRate(ceiling);
    const unit = { flops: "GFLOP/s", dots: "Gop/s", read: "GB/s", copy: "GB/s" }[ceiling.kind];
    const on = ceiling.backend ?? `${ceiling.threads} thread${ceiling.threads === 1 ? "" : "s"}`;
    const name = {
      flops: "f32 multiply-add peak",
      dots: "8-bit dot product peak",
      read: "memory read",
      copy: "memory copy (read + written)",
    }[ceiling.kind];
    return `${name}, ${on}: ${number(median / 1e9)} ${unit} [${number(low / 1e9)}–${number(high / 1e9)}]`;
  });
}

/** Changes of a receipt's rows since a baseline, by row and subject. */
export function baselineTable(now: Receipt, before: Receipt): string {
  const lines = now.rows.flatMap((row) => {
    const old = before.rows.find(({ id }) => id === row.id);
    return row.subjects.flatMap((subject) => {
      const then = old?.subjects.find(({ name }) => name === subject.name)?.time;
      if (subject.time === undefined || then === undefined) return [];
      const change: Estimate = {
        median: then.median / subject.time.median,
        low: then.low / subject.time.high,
        high: then.high / subject.time.low,
      };
      return [[row.id, subject.name, `${number(change.median)}×`, interval(change), verdictOf(change)]];
    });
  });
  if (lines.length === 0) return `${now.suite}: the baseline has no row of this run`;
  const head = [`${now.suite} against ${before.commit.sha.slice(0, 10)}`, "subject", "speed", "interval", "verdict"];
  const agreeing = lines.filter((line) => line.at(-1) === "equal").length;
  return `${formatTable(head, lines, ["left", "left", "right", "right", "left"])}\n\n${agreeing} of ${lines.length} agree within their intervals.`;
}

function lineOf(row: ReceiptRow, subject: ReceiptSubject, ceilings: readonly Ceiling[], isFirst: boolean): readonly string[] {
  const title = isFirst ? `${row.id}${row.data === "cache" ? " (in cache)" : ""}` : "";
  const name = subject.threads === undefined ? subject.name : `${subject.name}, ${subject.threads}T`;
  if (subject.time === undefined) {
    const what = subject.failed === undefined ? `skipped: ${subject.skipped}` : `FAILED: ${subject.failed}`;
    return [title, name, "–", "–", "–", elementAt(what.replaceAll("|", "/").split("\n"), 0)];
  }
  const value = quoted(row.metric, row.work, subject.time);
  return [title, name, `${number(value.median)} ${row.metric}`, interval(value), fractionOf(row, subject, ceilings), ratioText(subject)];
}

function fractionOf(row: ReceiptRow, { time, threads }: ReceiptSubject, ceilings: readonly Ceiling[]): string {
  if (row.bound === "none" || time === undefined) return "–";
  const ceiling = ceilingFor(ceilings, row.bound, threads);
  if (ceiling === undefined) return "–";
  const work = row.bound === "flops" || row.bound === "dots" ? row.work.flops : row.work.bytes;
  return `${((100 * work!) / time.median / ceiling).toFixed(0)} %`;
}

function ratioText({ ratios = {} }: ReceiptSubject): string {
  return Object.entries(ratios)
    .map(([name, ratio]) => `${name} ${number(ratio.median)}× ${interval(ratio)} ${verdictOf(ratio)}`)
    .join("; ");
}

function interval({ low, high }: Estimate): string {
  return `[${number(low)}–${number(high)}]`;
}

/** Three significant digits, never in exponential form. */
function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(digits(Number(value.toPrecision(3))));
}
