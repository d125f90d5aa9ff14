import type { BenchRow } from "@centella/llm/bench";
import { deriveRow, digits } from "../receipts/derive.ts";
import type { ReceiptRow, ReceiptSubject } from "../receipts/receipt.ts";
import { receiptRow } from "../receipts/receiptRow.ts";
import type { GpuResult, KernelResult } from "./run.ts";

/** Name of the suite in receipts. */
export const gpuSuite = "gpu";

/**
 * Rows of all backends in the form of receipts: one per kernel, call and test of a model, with a subject for each backend. Layers have no
 * times: one has a row only if it is wrong or was skipped.
 */
export function gpuReceiptRows(results: readonly GpuResult[]): readonly ReceiptRow[] {
  const rows = new Map<string, ReceiptRow>();
  const add = (row: ReceiptRow): void => {
    const known = rows.get(row.id);
    const names = known?.subjects.map(({ name }) => name) ?? [];
    // The peer takes turns with each backend; its first samples are the row's.
    const subjects = [...(known?.subjects ?? []), ...row.subjects.filter(({ name }) => !names.includes(name))];
    rows.set(row.id, { ...row, subjects });
  };
  for (const result of results) {
    for (const kernel of result.kernels) add(kernelRow(kernel, result));
    for (const measured of result.host) add(receiptRow(measured, "cpu"));
    for (const model of result.models) for (const row of model.rows ?? []) add(modelRow(model.model, row, result.backend));
    const checked = [...result.layers.map(({ name, ...layer }) => ({ ...layer, model: `layer: ${name}` })), ...result.models];
    for (const { model, failed, skipped } of checked)
      if (failed !== undefined || skipped !== undefined) add(missingModel(model, result.backend, { failed, skipped }));
  }
  return [...rows.values()].map((row) => deriveRow(gpuSuite, row));
}

/** Kernels that the device's memory bounds are quoted in microseconds, the others by their arithmetic. */
function kernelRow(kernel: KernelResult, { backend, ceiling }: GpuResult): ReceiptRow {
  const { group, name, bytes, flops, floor, seconds, calls, peerSeconds, peerSkipped, skipped, failed } = kernel;
  const isMemoryBound = ceiling === undefined || floor <= bytes / ceiling.copyRate;
  const own: ReceiptSubject = {
    name: backend,
    side: "ours",
    ...(failed === undefined ? skipped !== undefined && { skipped } : { failed }),
    ...(seconds !== undefined && { samples: seconds }),
    ...(calls !== undefined && { calls }),
  };
  const peer: readonly ReceiptSubject[] =
    peerSeconds !== undefined
      ? [{ name: "PyTorch", side: "peer", samples: peerSeconds }]
      : peerSkipped !== undefined
        ? [{ name: "PyTorch", side: "peer", skipped: peerSkipped }]
        : [];
  return {
    id: `${group}: ${name}`,
    metric: isMemoryBound ? "µs" : "GFLOP/s",
    bound: isMemoryBound ? "copy" : "none",
    work: { bytes, flops },
    data: "memory",
    subjects: [own, ...peer],
  };
}

function modelRow(model: string, { test, tokens, tokensPerSecond }: BenchRow, backend: string): ReceiptRow {
  const samples = [tokensPerSecond.map((rate) => digits(tokens / rate))];
  return { ...plainModelRow(`${model} ${test}`), work: { tokens }, subjects: [{ name: backend, side: "ours", samples }] };
}

function missingModel(
  model: string,
  backend: string,
  { failed, skipped }: { readonly failed: string | undefined; readonly skipped: string | undefined },
): ReceiptRow {
  const why = failed === undefined ? { skipped: skipped ?? "" } : { failed };
  return { ...plainModelRow(model), work: {}, subjects: [{ name: backend, side: "ours", ...why }] };
}

function plainModelRow(id: string): Pick<ReceiptRow, "id" | "metric" | "bound" | "data"> {
  return { id, metric: "tokens/s", bound: "none", data: "-" };
}
