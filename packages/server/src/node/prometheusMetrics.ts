import { ArgumentError } from "@centella/quant";
import { checkOptions, describe, list } from "@centella/quant/checks";
import type { MetricsSource } from "../metricsSource.ts";
import type { Recorder } from "./metricsRecorder.ts";
import type { MetricNames } from "./metricTable.ts";

/** Options of {@link prometheusMetrics}. */
export interface MetricsOptions {
  /** Whose names the metrics have. Several give each metric several names. Default: centella's. */
  readonly names?: readonly MetricNames[] | undefined;
  /** Add metrics of the process: CPU time, memory, lag of the event loop. Default true. */
  readonly includesProcess?: boolean | undefined;
}

const knownNames: readonly MetricNames[] = ["centella", "vllm", "llamacpp"];

/**
 * Metrics in the format of Prometheus, for the option `metrics` of `createHandler`. The library that keeps them takes 30 ms to load, so it is
 * loaded while the server starts to listen; events wait for it.
 * @throws {ArgumentError} for an unknown option or name
 */
export function prometheusMetrics(options: MetricsOptions = {}): MetricsSource {
  const { names = ["centella"], includesProcess = true } = checkOptions("prometheusMetrics", options, {
    names: list,
    includesProcess: { expected: "true or false", accepts: (value: unknown) => typeof value === "boolean" },
  });
  const unknown = names.find((name) => !knownNames.includes(name));
  if (unknown !== undefined) throw new ArgumentError("prometheusMetrics.names", `some of ${knownNames.join(", ")}`, describe(unknown));
  let recorder: Recorder | undefined;
  const opening = import("./metricsRecorder.ts").then(({ openRecorder }) => {
    recorder = openRecorder(names, includesProcess);
    return recorder;
  });
  return {
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    record(event) {
      if (recorder !== undefined) recorder.record(event);
      // A library that cannot be loaded fails each request for the metrics.
      else
        opening.then(
          (opened) => opened.record(event),
          () => undefined,
        );
    },
    async render(models) {
      return (await opening).render(models);
    },
  };
}
