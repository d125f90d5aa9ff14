import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { MetricNames, MetricRow } from "./metricTable.ts";

/** Upper bounds of the histograms, in seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

export type Labels = Readonly<Record<string, string>>;

/** A metric under one or more names. */
export interface Metric {
  add(labels: Labels, value: number): void;
  /** Forgets all values. */
  reset(): void;
}

/** Registers a metric under the given names. */
export function metricOf(row: MetricRow, names: readonly MetricNames[], registry: Registry): Metric {
  const { kind, help, labels } = row;
  const spelled = names.flatMap((whose) => {
    const name = row.names[whose];
    if (name === undefined) return [];
    const labelOf = (label: string): string | undefined =>
      whose === "llamacpp" ? undefined : whose === "vllm" && label === "model" ? "model_name" : label;
    const labelNames = labels.flatMap((label) => labelOf(label) ?? []);
    const configuration = { name, help, labelNames, registers: [registry] };
    const relabelled = (given: Labels): Labels =>
      Object.fromEntries(
        Object.entries(given).flatMap(([label, value]) => (labelOf(label) === undefined ? [] : [[labelOf(label)!, value]])),
      );
    if (kind === "histogram") {
      const histogram = new Histogram({ ...configuration, buckets });
      return [{ add: (given: Labels, value: number) => histogram.observe(relabelled(given), value), reset: () => histogram.reset() }];
    }
    const metric = kind === "gauge" ? new Gauge(configuration) : new Counter(configuration);
    return [{ add: (given: Labels, value: number) => metric.inc(relabelled(given), value), reset: () => metric.reset() }];
  });
  return {
    add(given, value) {
      for (const metric of spelled) metric.add(given, value);
    },
    reset() {
      for (const metric of spelled) metric.reset();
    },
  };
}
