import { ArgumentError } from "@centella/quant";
import { checkOptions, describe, list } from "@centella/quant/checks";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { FinishedEvent, ServerEvent } from "../events.ts";
import type { MetricsSource } from "../metricsSource.ts";
import { type MetricNames, type MetricRow, metricTable } from "./metricTable.ts";

/** Options of {@link prometheusMetrics}. */
export interface MetricsOptions {
  /** Whose names the metrics have. Several give each metric several names. Default: centella's. */
  readonly names?: readonly MetricNames[] | undefined;
  /** Add metrics of the process: CPU time, memory, lag of the event loop. Default true. */
  readonly includesProcess?: boolean | undefined;
}

/** Upper bounds of the histograms, in seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

type Labels = Readonly<Record<string, string>>;
type MetricName = keyof typeof metricTable;

/** A metric under one or more names. */
interface Metric {
  add(labels: Labels, value: number): void;
}

const knownNames: readonly MetricNames[] = ["centella", "vllm", "llamacpp"];

/**
 * Metrics in the format of Prometheus, for the option `metrics` of `createHandler`.
 * @throws {ArgumentError} for an unknown option or name
 */
export function prometheusMetrics(options: MetricsOptions = {}): MetricsSource {
  const { names = ["centella"], includesProcess = true } = checkOptions("prometheusMetrics", options, {
    names: list,
    includesProcess: { expected: "true or false", accepts: (value: unknown) => typeof value === "boolean" },
  });
  const unknown = names.find((name) => !knownNames.includes(name));
  if (unknown !== undefined) throw new ArgumentError("prometheusMetrics.names", `some of ${knownNames.join(", ")}`, describe(unknown));
  const registry = new Registry();
  if (includesProcess) collectDefaultMetrics({ register: registry });
  const entries = Object.entries(metricTable).map(([key, row]) => [key, metricOf(row, names, registry)]);
  const metrics = Object.fromEntries(entries) as Readonly<Record<MetricName, Metric>>;
  return {
    contentType: registry.contentType,
    record: (event) => record(metrics, event),
    render: () => registry.metrics(),
  };
}

function metricOf(row: MetricRow, names: readonly MetricNames[], registry: Registry): Metric {
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
      return [(given: Labels, value: number) => histogram.observe(relabelled(given), value)];
    }
    const metric = kind === "gauge" ? new Gauge(configuration) : new Counter(configuration);
    return [(given: Labels, value: number) => metric.inc(relabelled(given), value)];
  });
  return {
    add(given, value) {
      for (const add of spelled) add(given, value);
    },
  };
}

function record(metrics: Readonly<Record<MetricName, Metric>>, event: ServerEvent): void {
  switch (event.type) {
    case "response":
      metrics.responses.add({ route: event.route, status: String(event.status) }, 1);
      if (event.error !== undefined) metrics.rejected.add({ reason: event.error }, 1);
      break;
    case "queued":
      metrics.waiting.add({ model: event.model }, 1);
      break;
    case "dequeued":
      metrics.waiting.add({ model: event.model }, -1);
      if (event.isAdmitted) metrics.running.add({ model: event.model }, 1);
      metrics.queueTime.add({ model: event.model }, event.queueMs / 1000);
      break;
    case "released":
      metrics.running.add({ model: event.model }, -1);
      break;
    case "model":
      if (event.state === "loaded") metrics.models.add({}, 1);
      if (event.state === "unloaded") metrics.models.add({}, -1);
      break;
    case "finished":
      recordText(metrics, event);
      break;
    case "failure":
      break;
  }
}

function recordText(
  metrics: Readonly<Record<MetricName, Metric>>,
  { model, route, finish, durationMs, usage, timings }: FinishedEvent,
): void {
  metrics.texts.add({ model, route, finish }, 1);
  metrics.duration.add({ model }, durationMs / 1000);
  if (finish === "cancelled") metrics.cancelled.add({ model }, 1);
  else if (finish !== "error") metrics.success.add({ model, finished_reason: finish }, 1);
  if (usage === undefined || timings === undefined) return;
  const { promptTokens, cachedTokens, completionTokens, draftedTokens, acceptedTokens } = usage;
  metrics.promptTokens.add({ model }, promptTokens);
  metrics.cachedTokens.add({ model }, cachedTokens);
  metrics.computedTokens.add({ model }, promptTokens - cachedTokens);
  metrics.generatedTokens.add({ model }, completionTokens);
  metrics.draftedTokens.add({ model }, draftedTokens);
  metrics.acceptedTokens.add({ model }, acceptedTokens);
  metrics.promptTime.add({ model }, timings.promptMs / 1000);
  metrics.generationTime.add({ model }, timings.decodeMs / 1000);
  if (completionTokens > 0) metrics.firstTokenTime.add({ model }, timings.timeToFirstTokenMs / 1000);
  if (completionTokens > 1) metrics.tokenTime.add({ model }, timings.decodeMs / 1000 / (completionTokens - 1));
}
