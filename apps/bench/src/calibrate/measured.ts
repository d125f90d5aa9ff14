import { join } from "node:path";
import type { Calibration } from "@centella/core";
import type { MeasuredThresholds } from "@centella/core/backend";
import { type Commit, describeMachine } from "../machine.ts";
import { repositoryFolder } from "../receipts/store.ts";
import { formatTable } from "../table.ts";

/** A calibration and the code that was measured, which `--json` writes and `--from` reads. */
export interface StoredCalibration {
  readonly commit: Commit;
  readonly calibration: Calibration;
}

/** The file of a backend's package that this app writes. */
export function thresholdsFile(backend: string): string {
  return join(repositoryFolder, "packages", `backend-${backend}`, "src", "thresholds.ts");
}

/** Names of CPU and GPUs, without any host name. */
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

/** The text of a backend's thresholds file. The origin is a constant of its own, which pages do not download. */
export function thresholdsText({ thresholds, ...origin }: MeasuredThresholds): string {
  const json = (value: object): string => JSON.stringify(value, undefined, 2);
  return `import type { BackendThresholds, MeasuredThresholds } from "@centella/core/backend";

// Written by \`pnpm bench calibrate --write\`; do not edit.

/** From how much work on the backend is worth its fixed costs. */
export const thresholds: BackendThresholds = ${json(thresholds)};

/** Where the thresholds are from: a record for readers. @public */
export const origin: Omit<MeasuredThresholds, "thresholds"> = ${json(origin)};
`;
}

/** A line per comparison, with the choice and its reason. */
export function calibrationTable({ comparisons }: Calibration): string {
  const amount = (min: number | "never" | undefined): string => (min === undefined ? "–" : String(min));
  return formatTable(
    ["backend", "against", "class", "from", "unit", "why"],
    comparisons.map(({ backend, against, class: kind, min, unit, reason }) => [backend, against, kind, amount(min), unit, reason]),
    ["left", "left", "left", "right", "left", "left"],
  );
}
