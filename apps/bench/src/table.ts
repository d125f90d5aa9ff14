import { elementAt } from "@centella/quant/checks";
/** Alignment of a column. */
export type Align = "left" | "right";

/** A Markdown table, columns padded. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[], align: readonly Align[]): string {
  const widths = head.map((title, column) => Math.max(3, title.length, ...rows.map((row) => elementAt(row, column).length)));
  const cell = (text: string, column: number): string =>
    align[column] === "left" ? text.padEnd(elementAt(widths, column)) : text.padStart(elementAt(widths, column));
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
  const rule = widths.map((width, column) => (align[column] === "left" ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}
