import { elementAt } from "@centella/quant/checks";
/** Formats rows as text with aligned columns, numbers to the right. The first row is the header. */
export function textTable(rows: readonly (readonly (string | number)[])[]): string {
  const cells = rows.map((row) =>
    row.map((cell) => (typeof cell === "number" ? cell.toLocaleString("en", { maximumFractionDigits: 3 }) : cell)),
  );
  const widths: number[] = [];
  for (const row of cells) for (const [column, { length }] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, length);
  const isNumber = (cells[0] ?? []).map((_, column) => rows.slice(1).some((row) => typeof row[column] === "number"));
  return cells
    .map((row) =>
      row
        .map((cell, i) => (isNumber[i] ? cell.padStart(elementAt(widths, i)) : cell.padEnd(elementAt(widths, i))))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
