import type { MeasuredRow } from "../runner/measure.ts";
import { digits } from "./derive.ts";
import type { ReceiptRow, ReceiptSubject } from "./receipt.ts";

/** A measured row in the form of receipts, without derived figures. */
export function receiptRow({ row, outcomes }: MeasuredRow, kind: "cpu" | "gpu"): ReceiptRow {
  const { id, metric, bound, work, data, note } = row;
  const subjects = outcomes.map(({ contestant: { name, side, threads }, outcome }): ReceiptSubject => {
    const who = { name, side, ...(threads === undefined ? {} : { threads }) };
    if (outcome.status === "skipped") return { ...who, skipped: outcome.reason };
    if (outcome.status === "failed") return { ...who, failed: outcome.reason };
    return { ...who, calls: outcome.calls, samples: outcome.passes.map((pass) => pass.map(digits)) };
  });
  return { id: kind === "gpu" ? `${id} [gpu]` : id, metric, bound, work, data, ...(note === undefined ? {} : { note }), subjects };
}
