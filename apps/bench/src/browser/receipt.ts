import { peerVersion } from "../peers/load.ts";
import { deriveRow, digits } from "../receipts/derive.ts";
import type { ReceiptHead } from "../receipts/head.ts";
import type { Receipt, ReceiptRow, ReceiptSubject } from "../receipts/receipt.ts";
import { Skip } from "../runner/subject.ts";
import type { PageResult } from "./projects.ts";
import { type BrowserResult, isWrong } from "./run.ts";

/** Project of the measured code; the others are peers. */
const own = "Centella";

/** Packages whose versions a receipt has. */
const packages = ["@tensorflow/tfjs-backend-webgpu", "onnxruntime-web"];

/** The tasks of a page or a process in the form of receipts: a row per task, a subject per project. */
export function browserReceipt(head: ReceiptHead, { adapter, missing, tasks }: BrowserResult): Receipt {
  const rows = tasks.map(({ name, results }): ReceiptRow => {
    const measured = Object.entries(results).map(([project, result]) => subjectOf(project, result));
    const absent = Object.entries(missing).map(([project, reason]): ReceiptSubject => ({ ...sideOf(project), skipped: reason }));
    return { id: name, metric: "ms", bound: "none", work: {}, data: "cache", subjects: [...measured, ...absent] };
  });
  return {
    ...head,
    versions: { node: process.versions.node, v8: process.versions.v8, ...Object.fromEntries(packages.flatMap(versionOf)) },
    devices: { webgpu: adapter },
    ceilings: [],
    rows: rows.map((row) => deriveRow(head.suite, row)),
  };
}

function subjectOf(project: string, result: PageResult): ReceiptSubject {
  const side = sideOf(project);
  const reason = result.failed ?? (isWrong(result) ? `wrong result: error ${result.error?.toPrecision(2)}` : undefined);
  // A peer that breaks does not fail the receipt.
  if (reason !== undefined) return { ...side, ...(side.side === "ours" ? { failed: reason } : { skipped: reason }) };
  return { ...side, samples: [(result.seconds ?? []).map(digits)] };
}

function sideOf(project: string): Pick<ReceiptSubject, "name" | "side"> {
  return { name: project, side: project === own ? "ours" : "peer" };
}

function versionOf(name: string): readonly (readonly [name: string, version: string])[] {
  try {
    return [[name, peerVersion(name)]];
  } catch (error) {
    if (error instanceof Skip) return [];
    throw error;
  }
}
