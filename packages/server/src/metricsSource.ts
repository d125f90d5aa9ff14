import type { CacheUsage } from "@centella/llm";
import type { ServerEvent } from "./events.ts";

/** What a loaded model uses. */
export interface ModelUsage {
  readonly model: string;
  readonly cache: CacheUsage;
}

/** What answers `/metrics`. `prometheusMetrics` of `@centella/server/node` is one. */
export interface MetricsSource {
  readonly contentType: string;
  /** Called with every event of the handler. */
  record(event: ServerEvent): void;
  /** The current values as text, with those of the loaded models. */
  render(models: readonly ModelUsage[]): Promise<string>;
}
