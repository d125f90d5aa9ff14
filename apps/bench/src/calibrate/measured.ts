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

/** The file of core that this app owns. */
export const thresholdsFile: string = join(repositoryFolder, "packages", "core", "src", "runtime", "measuredThresholds.ts");

/** CPU and GPUs in words, with nothing that names a host. */
export function machineName(): string {
  const { cpu, cores, gpus } = describeMachine();
  return [`${cpu}, ${cores} cores`, ...gpus.map(({ name, driver }) => `${name}, driver ${driver}`)].join("; ");
}

/** The entries of a calibration, and those of `before` for backends that it did not compare, in order of name. */
export function mergeMeasured(
  before: readonly MeasuredThresholds[],
  { commit, calibration: { measuredAt, machine, thresholds, comparisons } }: StoredCalibration,
): readonly MeasuredThresholds[] {
  const measured = Object.entries(thresholds).map(([backend, table]): MeasuredThresholds => {
    const own = comparisons.filter((comparison) => comparison.backend === backend);
    return {
      backend,
      against: own[0]?.against ?? "",
      measuredAt: measuredAt.slice(0, 10),
      machine,
      commit: commit.sha.slice(0, 10),
      reasons: Object.fromEntries(own.map((comparison) => [comparison.class, comparison.reason])),
      thresholds: table!,
    };
  });
  const kept = before.filter(({ backend }) => !measured.some((entry) => entry.backend === backend));
  return [...kept, ...measured].toSorted((a, b) => a.backend.localeCompare(b.backend));
}

/** `text` of the thresholds file with other entries; what stands above them stays. */
export function withMeasured(text: string, entries: readonly MeasuredThresholds[]): string {
  const marker = "export const measuredThresholds: readonly MeasuredThresholds[] = ";
  const at = text.indexOf(marker);
  if (at < 0) throw new Error(`${thresholdsFile}: expected a line "${marker}…", got none; take the file from the repository`);
  return `${text.slice(0, at)}${marker}${JSON.stringify(entries, undefined, 2)};\n`;
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
