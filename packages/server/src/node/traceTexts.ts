import type { Attributes, Context } from "@opentelemetry/api";
import type { ComputedEvent, FinishedEvent } from "../events.ts";
import type { Handler } from "../handler.ts";
import { version } from "../version.ts";

/** The parts of `@opentelemetry/api` that {@link traceTexts} uses: pass the module. */
export type TracingApi = Pick<typeof import("@opentelemetry/api"), "context" | "propagation" | "SpanKind" | "SpanStatusCode" | "trace">;

/** Events that are spans. */
type TracedEvent = FinishedEvent | ComputedEvent;

/** Operations of OpenTelemetry's semantic conventions by the last part of a route that generates texts. Default: chat. */
const operations: Readonly<Record<string, string>> = {
  completions: "text_completion",
  completion: "text_completion",
  infill: "text_completion",
  generate: "text_completion",
};

/**
 * Has OpenTelemetry record a span for each text that a handler generates, and for each request of embeddings or a ranking, by its semantic
 * conventions for generative models. The parent is that of the request's `traceparent`. Where spans go is up to the SDK that the app has set
 * up. Returns a function that ends this.
 */
export function traceTexts({ events }: Pick<Handler, "events">, api: TracingApi): () => void {
  const tracer = api.trace.getTracer("@centella/server", version);
  return events.subscribe((event) => {
    if (event.type !== "finished" && event.type !== "computed") return;
    const end = Date.now();
    const operation = operationOf(event);
    const attributes = { ...commonOf(event, operation), ...(event.type === "finished" ? textOf(event) : computationOf(event)) };
    const options = { kind: api.SpanKind.SERVER, startTime: end - event.durationMs, attributes };
    const span = tracer.startSpan(`${operation} ${event.model}`, options, parentOf(event, api));
    if (hasFailed(event)) {
      span.setAttribute("error.type", "_OTHER");
      span.setStatus({ code: api.SpanStatusCode.ERROR });
    }
    span.end(end);
  });
}

function operationOf(event: TracedEvent): string {
  const { route } = event;
  if (event.type === "computed") return event.operation;
  return route.endsWith("chat/completions") ? "chat" : (operations[route.slice(route.lastIndexOf("/") + 1)] ?? "chat");
}

function commonOf({ model, requestId }: TracedEvent, operation: string): Attributes {
  return {
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": "centella",
    "gen_ai.request.model": model,
    "gen_ai.response.model": model,
    "gen_ai.response.id": requestId,
  };
}

function textOf({ finish, queueMs, usage, timings }: FinishedEvent): Attributes {
  return {
    "gen_ai.response.finish_reasons": [finish],
    "centella.queue_ms": queueMs,
    ...(usage && {
      "gen_ai.usage.input_tokens": usage.promptTokens,
      "gen_ai.usage.output_tokens": usage.completionTokens,
      "gen_ai.usage.cache_read.input_tokens": usage.cachedTokens,
    }),
    ...(timings && { "centella.time_to_first_token_ms": timings.timeToFirstTokenMs }),
  };
}

function computationOf({ tokens }: ComputedEvent): Attributes {
  return tokens === undefined ? {} : { "gen_ai.usage.input_tokens": tokens };
}

function hasFailed(event: TracedEvent): boolean {
  return event.type === "finished" ? event.finish === "error" : event.tokens === undefined;
}

function parentOf({ traceparent }: TracedEvent, { context, propagation }: TracingApi): Context {
  return traceparent === undefined ? context.active() : propagation.extract(context.active(), { traceparent });
}
