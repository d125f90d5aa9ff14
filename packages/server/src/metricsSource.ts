import type { ServerEvent } from "./events.ts";

/** What answers `/metrics`. `prometheusMetrics` of `@centella/server/node` is one. */
export interface MetricsSource {
  readonly contentType: string;
  /** Called with every event of the handler. */
  record(event: ServerEvent): void;
  /** The current values as text. */
  render(): Promise<string>;
}
