import type { Attributes, Context, Span } from "@opentelemetry/api";
import type { FinishedEvent } from "../events.ts";
import type { Handler } from "../handler.ts";
import { version } from "../version.ts";

/** The parts of `@opentelemetry/api` that {@link traceTexts} uses: pass the module. */
export type TracingApi = Pick<typeof import("@opentelemetry/api"), "context" | "propagation" | "SpanKind" | "SpanStatusCode" | "trace">;

/** Operations of OpenTelemetry's semantic conventions by the last part of a route. Default: chat. */
const operations: Readonly<Record<string, string>> = {
  completions: "text_completion",
  completion: "text_completion",
  infill: "text_completion",
  generate: "text_completion",
};

/**
 * Has OpenTelemetry record a span for each text that a handler generates, by its semantic conventions for generative models. The parent is
 * that of the request's `traceparent`. Where spans go is up to the SDK that the app has set up. Returns a function that ends this.
 */
export function traceTexts({ events }: Pick<Handler, "events">, api: TracingApi): () => void {
  const tracer = api.trace.getTracer("@centella/server", version);
  return events.subscribe((event) => {
    if (event.type !== "finished") return;
    const end = Date.now();
    const { name, attributes } = describe(event);
    const startTime = end - event.durationMs;
    const span = tracer.startSpan(name, { kind: api.SpanKind.SERVER, startTime, attributes }, parentOf(event, api));
    close(span, event, api);
    span.end(end);
  });
}

function describe({ route, model, finish, queueMs, usage, timings, requestId }: FinishedEvent): {
  readonly name: string;
  readonly attributes: Attributes;
} {
  const last = route.slice(route.lastIndexOf("/") + 1);
  const operation = route.endsWith("chat/completions") ? "chat" : (operations[last] ?? "chat");
  return {
    name: `${operation} ${model}`,
    attributes: {
      "gen_ai.operation.name": operation,
      "gen_ai.provider.name": "centella",
      "gen_ai.request.model": model,
      "gen_ai.response.model": model,
      "gen_ai.response.id": requestId,
      "gen_ai.response.finish_reasons": [finish],
      "centella.queue_ms": queueMs,
      ...(usage && {
        "gen_ai.usage.input_tokens": usage.promptTokens,
        "gen_ai.usage.output_tokens": usage.completionTokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cachedTokens,
      }),
      ...(timings && { "centella.time_to_first_token_ms": timings.timeToFirstTokenMs }),
    },
  };
}

function parentOf({ traceparent }: FinishedEvent, { context, propagation }: TracingApi): Context {
  return traceparent === undefined ? context.active() : propagation.extract(context.active(), { traceparent });
}

function close(span: Span, { finish }: FinishedEvent, { SpanStatusCode }: TracingApi): void {
  if (finish !== "error") return;
  span.setAttribute("error.type", "_OTHER");
  span.setStatus({ code: SpanStatusCode.ERROR });
}
