import * as api from "@opentelemetry/api";
import { expect, test } from "vitest";
import type { ServerEvent } from "../src/index.ts";
import { createHandler } from "../src/index.ts";
import { traceTexts } from "../src/node/node.ts";
import { scripted } from "./scriptedModel.ts";
import { post, TestModel } from "./serving.ts";

const served = await TestModel.forFile();
const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** OpenTelemetry with a tracer that notes its spans, and W3C's propagation. */
function notedSpans() {
  const spans: { name: string; options: api.SpanOptions; parent: string | undefined; status?: api.SpanStatus }[] = [];
  const tracer = {
    startSpan(name: string, options: api.SpanOptions, context: api.Context) {
      const span = { name, options, parent: api.trace.getSpanContext(context)?.spanId, status: undefined as never };
      spans.push(span);
      return { setAttribute: () => undefined, setStatus: (status: never) => void Object.assign(span, { status }), end: () => undefined };
    },
  };
  const extract = (context: api.Context, carrier: { readonly traceparent: string }): api.Context => {
    const [, traceId, spanId] = carrier.traceparent.split("-") as [string, string, string];
    return api.trace.setSpanContext(context, { traceId, spanId, traceFlags: 1, isRemote: true });
  };
  return { spans, api: { ...api, trace: { ...api.trace, getTracer: () => tracer }, propagation: { extract } } as never };
}

test("each text is a span under the trace of its request, and events have the trace", async () => {
  const { model } = scripted(served, [{ text: "one" }, { error: new Error("broken") }]);
  const handler = createHandler({ models: { fable: model } });
  const { spans, api: noted } = notedSpans();
  const end = traceTexts(handler, noted);
  const events: ServerEvent[] = [];
  handler.events.subscribe((event) => void events.push(event));
  const ask = (headers: HeadersInit) => post(handler, "/v1/chat/completions", { messages: [{ role: "user", content: "Hi" }] }, { headers });
  await (await ask({ traceparent, "x-request-id": "first" })).text();
  await (await ask({ traceparent: "forged\u00ff" })).text();
  end();
  expect(spans).toMatchObject([
    {
      name: "chat fable",
      parent: "b7ad6b7169203331",
      status: undefined,
      options: {
        kind: api.SpanKind.SERVER,
        attributes: {
          "gen_ai.operation.name": "chat",
          "gen_ai.request.model": "fable",
          "gen_ai.response.id": "first",
          "gen_ai.response.finish_reasons": ["stop"],
          "gen_ai.usage.input_tokens": 4,
        },
      },
    },
    { name: "chat fable", parent: undefined, status: { code: api.SpanStatusCode.ERROR } },
  ]);
  const traced = events.filter(({ type }) => type === "finished" || type === "response");
  expect(traced).toMatchObject([{ traceparent }, { traceparent }, { traceparent: undefined }, { traceparent: undefined }]);
  await handler.close();
});

test("embeddings are spans with their tokens, also those that are refused", async () => {
  const handler = createHandler({ models: { fable: served.model } });
  const { spans, api: noted } = notedSpans();
  traceTexts(handler, noted);
  const { usage } = (await (await post(handler, "/v1/embeddings", { input: "a fox" }, { headers: { traceparent } })).json()) as {
    usage: { prompt_tokens: number };
  };
  await post(handler, "/v1/embeddings", { input: "a fox", dimensions: 100_000 });
  const attributes = { "gen_ai.operation.name": "embeddings", "gen_ai.usage.input_tokens": usage.prompt_tokens };
  expect(spans).toMatchObject([
    { name: "embeddings fable", parent: "b7ad6b7169203331", status: undefined, options: { attributes } },
    { name: "embeddings fable", parent: undefined, status: { code: api.SpanStatusCode.ERROR } },
  ]);
  await handler.close();
});

test("prompts are events only if they are asked for", async () => {
  const { model } = scripted(served, [{ text: "one" }, { text: "two" }]);
  for (const emitsPrompts of [false, true]) {
    const handler = createHandler({ models: { fable: model }, emitsPrompts });
    const events: ServerEvent[] = [];
    handler.events.subscribe((event) => void events.push(event));
    await (await post(handler, "/v1/chat/completions", { messages: [{ role: "user", content: "a secret" }] })).text();
    expect(JSON.stringify(events).includes("a secret")).toBe(emitsPrompts);
    expect(events.filter(({ type }) => type === "prompt")).toHaveLength(emitsPrompts ? 1 : 0);
    await handler.close();
  }
});

test("events of the queue and of loading name their request, and invalid trace contexts are ignored", async () => {
  const { model } = scripted(served, [{ text: "one" }, { text: "two" }, { text: "three" }]);
  const handler = createHandler({ models: { fable: { load: async () => model, isLazy: true } } });
  const events: ServerEvent[] = [];
  handler.events.subscribe((event) => void events.push(event));
  const body = { messages: [{ role: "user", content: "Hello" }] };
  await post(handler, "/v1/chat/completions", body, { headers: { traceparent, "x-request-id": "first" } });
  const origin = { requestId: "first", model: "fable", traceparent };
  for (const type of ["queued", "dequeued", "released", "finished", "response"])
    expect(events).toContainEqual(expect.objectContaining({ type, ...origin }));
  expect(events.filter(({ type }) => type === "model")).toMatchObject([
    { state: "loading", requestId: "first", traceparent },
    { state: "loaded", requestId: "first", traceparent },
  ]);
  const [, trace, parent] = traceparent.split("-") as [string, string, string];
  for (const wrong of [`ff-${trace}-${parent}-01`, `00-${"0".repeat(32)}-${parent}-01`, `00-${trace}-${"0".repeat(16)}-01`])
    await post(handler, "/v1/models", {}, { headers: { traceparent: wrong } });
  expect(events.slice(-3)).toEqual(Array.from({ length: 3 }, () => expect.objectContaining({ type: "response", traceparent: undefined })));
  await handler.close();
});
