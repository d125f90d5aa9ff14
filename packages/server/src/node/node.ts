export { isLoopback } from "../security/hosts.ts";
export type { MetricNames } from "./metricTable.ts";
export { type MetricsOptions, prometheusMetrics } from "./prometheusMetrics.ts";
export { type Listener, type ListenOptions, serve } from "./serve.ts";
export { slotFiles } from "./slotFiles.ts";
export { type TracingApi, traceTexts } from "./traceTexts.ts";
