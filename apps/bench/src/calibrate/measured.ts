import { join } from "node:path";
import type { Calibration } from "@centella/core";
import type { MeasuredThresholds } from "@centella/core/backend";
import { type Commit, describeMachine } from "../machine.ts";
import { repositoryFolder } from "../receipts/store.ts";
import { formatTable } from "../table.ts";

/** A calibration and the code that was measured: what `--json` writes and `--from` reads. */
export interface StoredCalibration {
  readonly commit: Commit;
  readonly calibration: Calibration;
}

/** The file of a backend's package that this app writes. */
export function thresholdsFile(backend: string): string {
  return join(repositoryFolder, "packages", `backend-${backend}`, "src", "thresholds.ts");
}

/** CPU and GPUs in words, with nothing that names a host. */
export function machineName(): string {
  const { cpu, cores, gpus } = describeMachine();
  return [`${cpu}, ${cores} cores`, ...gpus.map(({ name, driver }) => `${name}, driver ${driver}`)].join("; ");
}

/** A calibration's thresholds with their origin, by backend. */
export function measuredTables({
  commit,
  calibration: { measuredAt, machine, thresholds, comparisons },
}: StoredCalibration): ReadonlyMap<string, MeasuredThresholds> {
  const tables = new Map<string, MeasuredThresholds>();
  for (const [backend, table] of Object.entries(thresholds)) {
    if (table === undefined) continue;
    const own = comparisons.filter((comparison) => comparison.backend === backend);
    tables.set(backend, {
      against: own[0]?.against ?? "",
      measuredAt: measuredAt.slice(0, 10),
      machine,
      commit: commit.sha.slice(0, 10),
      reasons: Object.fromEntries(own.map((comparison) => [comparison.class, comparison.reason])),
      thresholds: table,
    });
  }
  return tables;
}

/** The text of a thresholds file with another table. The lines above the table stay. */
export function withMeasured(text: string, table: MeasuredThresholds): string {
  const marker = "export const measured: MeasuredThresholds = ";
  const at = text.indexOf(marker);
  if (at < 0) throw new Error(`thresholds.ts: expected a line "${marker}…", got none; take the file from the repository`);
  return `${text.slice(0, at)}${marker}${JSON.stringify(table, undefined, 2)};\n`;
}

/** Every comparison: what was chosen and why. */
export function calibrationTable({ comparisons }: Calibration): string {
  const amount = (min: number | "never" | undefined): string => (min === undefined ? "–" : String(min));
  return formatTable(
    ["backend", "against", "class", "from", "unit", "why"],
    comparisons.map(({ backend, against, class: kind, min, unit, reason }) => [backend, against, kind, amount(min), unit, reason]),
    ["left", "left", "left", "right", "left", "left"],
  );
}
