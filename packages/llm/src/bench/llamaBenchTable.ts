import { check, isRecord, kind, listOf } from "@centella/quant/checks";
import type { ModelInfo } from "../model/modelInfo.ts";
import type { BenchRow } from "./benchModel.ts";

const infoKind = kind(
  "information on a model",
  (value) => isRecord(value) && isRecord(value.memory) && typeof value.parameters === "number",
);
const rowList = listOf(
  "results",
  kind("a result", (value) => isRecord(value) && typeof value.test === "string" && Array.isArray(value.tokensPerSecond)),
);

/**
 * Formats rows as a Markdown table with the columns of llama.cpp's llama-bench, so that both can be compared line by line. Rates are means ±
 * standard deviations of the repetitions. Sizes are those of the weights.
 */
export function llamaBenchTable(info: ModelInfo, rows: readonly BenchRow[]): string {
  check("llamaBenchTable", "info", info, infoKind, "pass model.info");
  check("llamaBenchTable", "rows", rows, rowList, "pass the rows that benchModel() yields");
  const head = ["model", "size", "params", "backend", "threads", "test", "t/s"];
  const lines = rows.map(({ test, tokensPerSecond }) => [
    `${info.name} ${info.quantization}`,
    `${(info.memory.weights / 2 ** 20).toFixed(2)} MiB`,
    parameters(info.parameters),
    info.backend,
    info.threads === undefined ? "-" : String(info.threads),
    test,
    rate(tokensPerSecond),
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...lines.map((line) => line[column]?.length ?? 0)));
  const pad = (cell: string, column: number): string => {
    const width = widths[column] ?? 0;
    return column === 0 || column === 3 ? cell.padEnd(width) : cell.padStart(width);
  };
  const row = (cells: readonly string[]): string => `| ${cells.map(pad).join(" | ")} |`;
  const rule = widths.map((width, i) => (i === 0 || i === 3 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [row(head), row(rule), ...lines.map(row)].join("\n");
}

function parameters(count: number): string {
  return count >= 1e9 ? `${(count / 1e9).toFixed(2)} B` : `${(count / 1e6).toFixed(2)} M`;
}

/** Mean ± sample standard deviation. */
function rate(values: readonly number[]): string {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const deviation = values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : 0;
  return `${mean.toFixed(2)} ± ${deviation.toFixed(2)}`;
}
