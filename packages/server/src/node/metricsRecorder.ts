import { collectDefaultMetrics, Registry } from "prom-client";
import type { FinishedEvent, ServerEvent } from "../events.ts";
import type { MetricsSource, ModelUsage } from "../metricsSource.ts";
import { AdapterRequests } from "./adapterRequests.ts";
import { type Metric, metricOf } from "./metric.ts";
import { type MetricNames, type MetricRow, metricTable } from "./metricTable.ts";

type MetricName = keyof typeof metricTable;

type Metrics = Readonly<Record<MetricName, Metric>>;

/** What keeps the values of the metrics. */
export type Recorder = Pick<MetricsSource, "record" | "render">;

/** Registers the metrics under the given names, and those of the process. */
export function openRecorder(names: readonly MetricNames[], includesProcess: boolean): Recorder {
  const registry = new Registry();
  if (includesProcess) collectDefaultMetrics({ register: registry });
  const entries = Object.entries(metricTable).map(([key, row]) => [key, metricOf(row, names, registry)]);
  const metrics = Object.fromEntries(entries) as Metrics;
  const adapters = new AdapterRequests(metrics.adapters);
  const rates = new Rates(metrics);
  return {
    record(event) {
      adapters.record(event);
      if (event.type === "finished") rates.record(event);
      record(metrics, event, (name) => adapters.baseOf(name));
    },
    render(models) {
      setCaches(metrics, models);
      rates.set();
      return registry.metrics();
    },
  };
}

/** Tokens per second of computing since the last time that metrics were read, as llama-server reports them. */
class Rates {
  readonly #metrics: Metrics;
  #prompt = { tokens: 0, ms: 0 };
  #generation = { tokens: 0, ms: 0 };

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  record({ usage, timings }: FinishedEvent): void {
    if (usage === undefined || timings === undefined) return;
    this.#prompt.tokens += usage.promptTokens - usage.cachedTokens;
    this.#prompt.ms += timings.promptMs;
    this.#generation.tokens += usage.completionTokens;
    this.#generation.ms += timings.decodeMs;
  }

  /** Sets the gauges, and begins again. */
  set(): void {
    const { promptRate, generationRate } = this.#metrics;
    for (const [gauge, { tokens, ms }] of [
      [promptRate, this.#prompt],
      [generationRate, this.#generation],
    ] as const) {
      gauge.reset();
      gauge.add({}, ms > 0 ? (tokens / ms) * 1000 : 0);
    }
    [this.#prompt, this.#generation] = [
      { tokens: 0, ms: 0 },
      { tokens: 0, ms: 0 },
    ];
  }
}

/** Sets the gauges of the caches. */
function setCaches({ cacheUsage, cacheConfig }: Metrics, models: readonly ModelUsage[]): void {
  cacheUsage.reset();
  cacheConfig.reset();
  for (const { model, cache } of models) {
    cacheUsage.add({ model }, cache.usedBlocks / cache.blocks);
    cacheConfig.add({ model, block_size: String(cache.blockTokens), num_gpu_blocks: String(cache.blocks) }, 1);
  }
}

/** Metrics of an engine: requests of its adapters count as those of the base, under whose name load balancers look. */
const ofEngine: ReadonlySet<MetricName> = new Set(["running", "waiting"]);

/** Adds the series of a model whose labels are known before its first request. */
function openSeries(metrics: Metrics, model: string, isAdapter: boolean): void {
  for (const [name, { labels }] of Object.entries(metricTable) as [MetricName, MetricRow][])
    if (labels.join() === "model" && !(isAdapter && ofEngine.has(name))) metrics[name].open({ model });
  for (const finished_reason of ["stop", "length"]) metrics.success.open({ model, finished_reason });
}

function record(metrics: Metrics, event: ServerEvent, baseOf: (model: string) => string): void {
  switch (event.type) {
    case "response":
      metrics.responses.add({ model: event.model ?? "", route: event.route, status: String(event.status) }, 1);
      if (event.error !== undefined) metrics.rejected.add({ reason: event.error }, 1);
      break;
    case "queued":
      metrics.waiting.add({ model: baseOf(event.model) }, 1);
      break;
    case "dequeued":
      metrics.waiting.add({ model: baseOf(event.model) }, -1);
      if (event.isAdmitted) metrics.running.add({ model: baseOf(event.model) }, 1);
      metrics.queueTime.add({ model: event.model }, event.queueMs / 1000);
      break;
    case "released":
      metrics.running.add({ model: baseOf(event.model) }, -1);
      break;
    case "model":
      if (event.state === "offered") openSeries(metrics, event.name, event.parent !== undefined);
      if (event.state === "loaded") metrics.models.add({}, 1);
      if (event.state === "unloaded") metrics.models.add({}, -1);
      break;
    case "finished":
      recordText(metrics, event);
      break;
    case "computed":
      metrics.promptTokens.add({ model: event.model }, event.tokens ?? 0);
      metrics.computedTokens.add({ model: event.model }, event.tokens ?? 0);
      break;
    case "failure":
      break;
  }
}

function recordText(metrics: Metrics, { model, route, finish, durationMs, usage, timings }: FinishedEvent): void {
  metrics.texts.add({ model, route, finish }, 1);
  metrics.duration.add({ model }, durationMs / 1000);
  if (finish === "cancelled") metrics.cancelled.add({ model }, 1);
  else if (finish !== "error" && finish !== "refused") metrics.success.add({ model, finished_reason: finish }, 1);
  if (usage === undefined || timings === undefined) return;
  const { promptTokens, cachedTokens, completionTokens, draftedTokens, acceptedTokens } = usage;
  metrics.promptTokens.add({ model }, promptTokens);
  metrics.cachedTokens.add({ model }, cachedTokens);
  metrics.computedTokens.add({ model }, promptTokens - cachedTokens);
  metrics.queriedTokens.add({ model }, promptTokens);
  metrics.generatedTokens.add({ model }, completionTokens);
  metrics.draftedTokens.add({ model }, draftedTokens);
  metrics.acceptedTokens.add({ model }, acceptedTokens);
  metrics.promptTime.add({ model }, timings.promptMs / 1000);
  metrics.generationTime.add({ model }, timings.decodeMs / 1000);
  metrics.textPromptTokens.add({ model }, promptTokens);
  metrics.textGeneratedTokens.add({ model }, completionTokens);
  metrics.textPromptTime.add({ model }, timings.promptMs / 1000);
  metrics.textGenerationTime.add({ model }, timings.decodeMs / 1000);
  if (completionTokens > 0) metrics.firstTokenTime.add({ model }, timings.timeToFirstTokenMs / 1000);
  if (completionTokens > 1) metrics.tokenTime.add({ model }, timings.decodeMs / 1000 / (completionTokens - 1));
}
