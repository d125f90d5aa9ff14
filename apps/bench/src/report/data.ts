import { ceilingRate } from "../ceilings/measure.ts";
import { machineSlug } from "../machine.ts";
import { quoted } from "../receipts/derive.ts";
import type { Receipt } from "../receipts/receipt.ts";
import type { Metric } from "../runner/subject.ts";

/** One subject of one row of one receipt, in the row's metric. */
export interface Point {
  readonly machine: string;
  readonly suite: string;
  readonly date: string;
  readonly commit: string;
  readonly row: string;
  readonly metric: Metric;
  readonly subject: string;
  readonly isOurs: boolean;
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** GFLOP/s reached, and flops per byte that must be moved; absent where a row does not count both. */
  readonly gflops?: number;
  readonly intensity?: number;
}

/** How many times as fast one of our backends is as a peer. */
export interface Ratio {
  readonly machine: string;
  readonly suite: string;
  readonly date: string;
  readonly row: string;
  readonly backend: string;
  readonly peer: string;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** A ceiling of a machine in GFLOP/s, Gop/s or GB/s. */
export interface Roof {
  readonly machine: string;
  readonly date: string;
  readonly kind: "flops" | "dots" | "read" | "copy";
  readonly on: string;
  readonly value: number;
}

/** Everything that the report's page draws. */
export interface ReportData {
  readonly machines: Readonly<Record<string, string>>;
  readonly points: readonly Point[];
  readonly ratios: readonly Ratio[];
  readonly roofs: readonly Roof[];
}

/** Receipts without their samples, oldest first. */
export function reportData(receipts: readonly Receipt[]): ReportData {
  return {
    machines: Object.fromEntries(receipts.map(({ machine }) => [machineSlug(machine), describe(machine)])),
    points: receipts.flatMap(pointsOf),
    ratios: receipts.flatMap(ratiosOf),
    roofs: receipts.flatMap(roofsOf),
  };
}

/** Processors whose virtual machines say their family and model alone. */
const processors: Readonly<Record<string, string>> = {
  "AMD EPYC family 25 model 17": "AMD EPYC 9004 (Genoa, Zen 4)",
  "Intel(R) Xeon(R) Processor family 6 model 167": "Intel Xeon E-2300 (Rocket Lake)",
  "Intel(R) Xeon(R) Processor family 6 model 207": "Intel Xeon, 5th generation (Emerald Rapids)",
};

function describe({ cpu, cores, gpus }: Receipt["machine"]): string {
  return [`${processors[cpu] ?? cpu}, ${cores} cores`, ...gpus.map(({ name }) => name)].join("; ");
}

function pointsOf({ machine, suite, date, commit, rows }: Receipt): readonly Point[] {
  return rows.flatMap(({ id, metric, work, subjects }) =>
    subjects.flatMap(({ name, side, time }): readonly Point[] => {
      if (time === undefined) return [];
      const { median, low, high } = quoted(metric, work, time);
      const { flops, bytes } = work;
      // Axes are logarithmic: copies, which compute nothing, have no place there.
      const roofline = !flops || !bytes ? {} : { gflops: flops / time.median / 1e9, intensity: flops / bytes };
      return [
        {
          machine: machineSlug(machine),
          suite,
          date: date.slice(0, 10),
          commit: commit.sha.slice(0, 10),
          row: id,
          metric,
          subject: name,
          isOurs: side === "ours",
          value: median,
          low,
          high,
          ...roofline,
        },
      ];
    }),
  );
}

function ratiosOf({ machine, suite, date, rows }: Receipt): readonly Ratio[] {
  return rows.flatMap(({ id, subjects }) =>
    subjects.flatMap(({ name, ratios = {} }) =>
      Object.entries(ratios).map(([backend, { median, low, high }]) => ({
        machine: machineSlug(machine),
        suite,
        date: date.slice(0, 10),
        row: id,
        backend,
        peer: name,
        value: median,
        low,
        high,
      })),
    ),
  );
}

function roofsOf({ machine, date, ceilings }: Receipt): readonly Roof[] {
  return ceilings.map((ceiling) => ({
    machine: machineSlug(machine),
    date: date.slice(0, 10),
    kind: ceiling.kind,
    on: ceiling.backend ?? `${ceiling.threads}T`,
    value: ceilingRate(ceiling).median / 1e9,
  }));
}
