import { expect, test } from "vitest";
import { createHandler, type Handler } from "../src/index.ts";
import { prometheusMetrics } from "../src/node/node.ts";
import { get, post, TestModel } from "./serving.ts";

const chat = "/v1/chat/completions";
const messages = [{ role: "user" as const, content: "Tell me a story about a fox." }];

const served = await TestModel.forFile({ sequences: 2 });

/** A server with metrics under all names. */
const measured = (): Handler => served.handler({ metrics: prometheusMetrics({ names: ["centella", "vllm", "llamacpp"] }) });

/** Values of metrics by name and labels, as Prometheus reads them. */
async function valuesOf(handler: Handler): Promise<ReadonlyMap<string, number>> {
  const text = await (await get(handler, "/metrics")).text();
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const [, name, value] = /^([a-zA-Z_:][\w:]*(?:\{(?:\w+="(?:[^"\\]|\\.)*",?)*\})?) (\S+)$/.exec(line) ?? [];
      if (name === undefined) throw new Error(`expected a line of Prometheus, got ${line}`);
      return [name, Number(value)];
    }),
  );
}

test("metrics count what was sent, under each name", async () => {
  const handler = measured();
  await (await post(handler, chat, { messages, stream: true })).body!.cancel();
  const before = await valuesOf(handler);
  const answer = await post(handler, chat, { messages, max_tokens: 5, ignore_eos: true });
  const { usage } = (await answer.json()) as { usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } } };
  await post(handler, chat, {});
  const after = await valuesOf(handler);
  const grown = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  const cached = usage.prompt_tokens_details.cached_tokens;
  expect({
    texts: grown(`centella:texts_total{model="fable",route="${chat}",finish="length"}`),
    succeeded: grown('vllm:request_success_total{model_name="fable",finished_reason="length"}'),
    generated: ["centella:generated_tokens_total", "vllm:generation_tokens_total"].map((name, i) =>
      grown(`${name}{model${i ? "_name" : ""}="fable"}`),
    ),
    predicted: grown("llamacpp:tokens_predicted_total"),
    prompt: grown('vllm:prompt_tokens_total{model_name="fable"}'),
    computed: grown("llamacpp:prompt_tokens_total"),
    looked: grown('vllm:prefix_cache_queries_total{model_name="fable"}'),
    lengths: grown('vllm:request_prompt_tokens_sum{model_name="fable"}') + grown('vllm:request_generation_tokens_sum{model_name="fable"}'),
    times: ["inter_token_latency", "request_prefill_time", "request_decode_time"].map((name) =>
      grown(`vllm:${name}_seconds_count{model_name="fable"}`),
    ),
    firstTokens: grown('vllm:time_to_first_token_seconds_count{model_name="fable"}'),
    queued: grown('centella:queue_seconds_count{model="fable"}'),
    rejected: grown('centella:requests_rejected_total{reason="missing_parameter"}'),
    refused: grown(`centella:responses_total{model="",route="${chat}",status="400"}`),
    ok: grown(`centella:responses_total{model="fable",route="${chat}",status="200"}`),
  }).toEqual({
    texts: 1,
    succeeded: 1,
    generated: [5, 5],
    predicted: 5,
    prompt: usage.prompt_tokens,
    computed: usage.prompt_tokens - cached,
    looked: usage.prompt_tokens,
    lengths: usage.prompt_tokens + 5,
    times: [1, 1, 1],
    firstTokens: 1,
    queued: 1,
    rejected: 1,
    refused: 1,
    ok: 1,
  });
  const gauges = [
    'centella:requests_running{model="fable"}',
    'vllm:num_requests_waiting{model_name="fable"}',
    "llamacpp:requests_deferred",
  ];
  expect(gauges.map((name) => after.get(name))).toEqual([0, 0, 0]);
  expect(after.get("centella:models_loaded")).toBe(1);
  expect(after.get('centella:texts_cancelled_total{model="fable"}')).toBeGreaterThan(0);
  expect([...after.keys()].some((name) => name.startsWith("nodejs_eventloop_lag"))).toBe(true);
});

test("wrong options of metrics are refused, and a server may have none", async () => {
  expect(() => prometheusMetrics({ names: ["mine" as never] })).toThrow('expected some of centella, vllm, llamacpp, got "mine"');
  const response = await served.handler().fetch(new Request("http://localhost/metrics"));
  expect([response.status, await response.json()]).toEqual([501, { error: expect.objectContaining({ code: "not_enabled" }) }]);
});

test("rates of llama-server are those since the last time that metrics were read", async () => {
  const handler = measured();
  await post(handler, chat, { messages, max_tokens: 5, ignore_eos: true });
  const names = ["llamacpp:prompt_tokens_seconds", "llamacpp:predicted_tokens_seconds"];
  const first = await valuesOf(handler);
  for (const name of names) expect(first.get(name)).toBeGreaterThan(0);
  const second = await valuesOf(handler);
  expect(names.map((name) => second.get(name))).toEqual([0, 0]);
});

test("series of a model are there before its first request", async () => {
  const handler = createHandler({
    models: { fable: { load: async () => served.model, isLazy: true, adapters: { sea: 1 } } },
    metrics: prometheusMetrics({ names: ["centella", "vllm", "llamacpp"] }),
  });
  const values = await valuesOf(handler);
  const names = [
    ...["requests_running", "requests_waiting", "generated_tokens_total", "text_seconds_count", "texts_cancelled_total"].map(
      (name) => `centella:${name}{model="fable"}`,
    ),
    ...["num_requests_running", "num_requests_waiting", "prefix_cache_queries_total", "request_prompt_tokens_count"].map(
      (name) => `vllm:${name}{model_name="fable"}`,
    ),
    ...["requests_processing", "requests_deferred", "tokens_predicted_total"].map((name) => `llamacpp:${name}`),
    'vllm:request_success_total{model_name="fable",finished_reason="stop"}',
    'vllm:generation_tokens_total{model_name="fable:sea"}',
  ];
  expect(names.filter((name) => values.get(name) !== 0)).toEqual([]);
  // Load balancers look for the requests of an engine under one name.
  expect([...values.keys()].filter((name) => /num_requests.*sea/.test(name))).toEqual([]);
  await handler.close();
});

test("requests that are refused after their turn are no errors of the server", async () => {
  const handler = measured();
  const response = await post(handler, chat, { messages: [{ role: "user", content: "fox ".repeat(2000) }] });
  expect(response.status).toBe(400);
  const values = await valuesOf(handler);
  expect([...values].filter(([name]) => name.startsWith("centella:texts_total"))).toEqual([
    [`centella:texts_total{model="fable",route="${chat}",finish="refused"}`, 1],
  ]);
  expect(values.get('centella:requests_rejected_total{reason="context_length_exceeded"}')).toBe(1);
  expect(values.get(`centella:responses_total{model="fable",route="${chat}",status="400"}`)).toBe(1);
  expect([...values].filter(([name, value]) => name.startsWith("vllm:request_success_total") && value > 0)).toEqual([]);
});
