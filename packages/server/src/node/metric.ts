import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { MetricNames, MetricRow } from "./metricTable.ts";

/** Upper bounds of the histograms. */
const buckets = {
  seconds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
  tokens: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000],
} as const;

export type Labels = Readonly<Record<string, string>>;

/** A metric under one or more names. */
export interface Metric {
  add(labels: Labels, value: number): void;
  /** Adds a series without a value yet, so that rates see its first one. */
  open(labels: Labels): void;
  /** Forgets all values. */
  reset(): void;
}

/** Registers a metric under the given names. */
export function metricOf(row: MetricRow, names: readonly MetricNames[], registry: Registry): Metric {
  const spelled = names.flatMap((whose) => [row.names[whose] ?? []].flat().map((name) => namedMetric(row, whose, name, registry)));
  return {
    add(labels, value) {
      for (const metric of spelled) metric.add(labels, value);
    },
    open(labels) {
      for (const metric of spelled) metric.open(labels);
    },
    reset() {
      for (const metric of spelled) metric.reset();
    },
  };
}

function namedMetric({ kind, help, labels, unit = "seconds" }: MetricRow, whose: MetricNames, name: string, registry: Registry): Metric {
  const labelOf = (label: string): string | undefined =>
    whose === "llamacpp" ? undefined : whose === "vllm" && label === "model" ? "model_name" : label;
  const labelNames = labels.flatMap((label) => labelOf(label) ?? []);
  const configuration = { name, help, labelNames, registers: [registry] };
  const relabelled = (given: Labels): Labels =>
    Object.fromEntries(Object.entries(given).flatMap(([label, value]) => (labelOf(label) === undefined ? [] : [[labelOf(label)!, value]])));
  if (kind === "histogram") {
    const histogram = new Histogram({ ...configuration, buckets: [...buckets[unit]] });
    return {
      add: (given, value) => histogram.observe(relabelled(given), value),
      open: (given) => histogram.zero(relabelled(given)),
      reset: () => histogram.reset(),
    };
  }
  const metric = kind === "gauge" ? new Gauge(configuration) : new Counter(configuration);
  return {
    add: (given, value) => metric.inc(relabelled(given), value),
    open: (given) => metric.inc(relabelled(given), 0),
    reset: () => metric.reset(),
  };
}
