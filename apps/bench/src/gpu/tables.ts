import { deriveRow } from "../receipts/derive.ts";
import { receiptRow } from "../receipts/receiptRow.ts";
import { median } from "../stats/bootstrap.ts";
import { formatTable } from "../table.ts";
import { receiptTable } from "../tables.ts";
import type { LayerResult } from "./layer.ts";
import type { GpuResult, KernelResult } from "./run.ts";

/** What was measured on a backend, as Markdown. */
export function gpuTables({ backend, device, skipped, ceiling, kernels, layers, host, models }: GpuResult): string {
  if (ceiling === undefined) return `${backend}: skipped: ${skipped}`;
  const parts = [`${backend}, ${device}: the driver copies ${gigabytes(ceiling.copyRate)} GB/s (read + written)`];
  if (kernels.length > 0) parts.push(kernelTable(kernels));
  if (layers.length > 0) parts.push(layerTable(layers));
  if (host.length > 0) {
    const rows = host.map((row) => deriveRow("host", receiptRow(row, "cpu")));
    parts.push(receiptTable({ suite: "host", rows, ceilings: [] }));
  }
  for (const { model, failed, skipped: why, table, readySeconds, firstTokenSeconds } of models) {
    if (table === undefined) parts.push(`${model}: ${failed === undefined ? `skipped: ${why}` : `FAILED: ${failed}`}`);
    else
      parts.push(`${model}: ready after ${readySeconds!.toFixed(2)} s, first token after ${firstTokenSeconds!.toFixed(2)} s\n\n${table}`);
  }
  return parts.join("\n\n");
}

/** A line per kernel: time of a call, its rate, the fraction of the floor, and the peer's time. */
function kernelTable(kernels: readonly KernelResult[]): string {
  const head = ["kernel", "µs", "GB/s", "TFLOP/s", "of floor", "PyTorch µs", "against it"];
  const lines = kernels.map((kernel) => {
    const { name, bytes, flops, floor, seconds, peerSeconds, peerSkipped, skipped, failed } = kernel;
    const title = `${kernel.group}: ${name}`;
    if (seconds === undefined) return [title, "–", "–", "–", "–", "–", failed === undefined ? `skipped: ${skipped}` : `FAILED: ${failed}`];
    const time = median(seconds.flat());
    const peer = peerSeconds === undefined ? undefined : median(peerSeconds.flat());
    return [
      title,
      micros(time),
      gigabytes(bytes / time),
      (flops / time / 1e12).toFixed(2),
      `${((100 * floor) / time).toFixed(0)} %`,
      peer === undefined ? "–" : micros(peer),
      peer === undefined ? (peerSkipped ?? "–") : `${(peer / time).toFixed(2)}×`,
    ];
  });
  return formatTable(head, lines, ["left", "right", "right", "right", "right", "right", "left"]);
}

/** A line per layer: its error, and the change that noise of the mode's rounding makes to it. */
function layerTable(layers: readonly LayerResult[]): string {
  const lines = layers.map(({ name, activations, error, sensitivity, ratio, failed, skipped }) => [
    name,
    activations,
    error?.toExponential(2) ?? "–",
    sensitivity?.toExponential(2) ?? "–",
    ratio?.toFixed(2) ?? "–",
    failed === undefined ? (skipped === undefined ? "right" : `skipped: ${skipped}`) : `FAILED: ${failed}`,
  ]);
  const head = ["layer", "mode", "relative error", "sensitivity", "ratio", ""];
  return formatTable(head, lines, ["left", "left", "right", "right", "right", "left"]);
}

function micros(seconds: number): string {
  return (1e6 * seconds).toFixed(1);
}

function gigabytes(rate: number): string {
  return (rate / 1e9).toFixed(0);
}
