import { expect, test } from "vitest";
import { createHandler, type Handler, type ModelLoader } from "../src/index.ts";
import { prometheusMetrics } from "../src/node/node.ts";
import { get, post, TestModel } from "./serving.ts";

const served = await TestModel.forFile();

/** The model again, as if it had an adapter. */
function adapted(scale?: number): ModelLoader {
  return { load: async () => (await TestModel.load()).model, isLazy: true, adapter: { base: "fable", scale } };
}

function handlerOf(): Handler {
  return createHandler({
    models: { fable: served.model, "fable:sea": adapted(), "fable:hill": adapted(0.5) },
    metrics: prometheusMetrics({ names: ["centella", "vllm"], includesProcess: false }),
  });
}

const answerTo = async (handler: Handler, path: string, body?: object): Promise<unknown> =>
  (await (body === undefined ? get(handler, path) : post(handler, path, body))).json();

test("adapters are models with a parent, and have llama-server's list", async () => {
  const handler = handlerOf();
  expect(await answerTo(handler, "/v1/models")).toMatchObject({
    data: [
      { id: "fable", root: "fable", parent: null },
      { id: "fable:sea", root: "fable", parent: "fable" },
      { id: "fable:hill", root: "fable", parent: "fable" },
    ],
  });
  expect(await answerTo(handler, "/v1/models/fable:sea")).toMatchObject({ id: "fable:sea", parent: "fable" });
  expect(await answerTo(handler, "/api/tags")).toMatchObject({
    models: [{ details: { parent_model: "" } }, { details: { parent_model: "fable" } }, {}],
  });
  expect(await answerTo(handler, "/lora-adapters")).toEqual([
    { id: 0, path: "fable:sea", scale: 1 },
    { id: 1, path: "fable:hill", scale: 0.5 },
  ]);
  expect(await answerTo(handler, "/lora-adapters", [{ id: 1, scale: 0.5 }])).toEqual({ success: true });
  const refused = (message: string, param: string): object => ({
    error: expect.objectContaining({ message: expect.stringContaining(message), param }),
  });
  expect(await answerTo(handler, "/lora-adapters", [{ id: 1, scale: 1 }])).toEqual(
    refused("expected 0.5, the scale that the adapter is served with, got 1; choose the model fable:hill or its base", "adapters[0].scale"),
  );
  expect(await answerTo(handler, "/lora-adapters", [{ id: 2, scale: 1 }])).toEqual(
    refused("expected the id of an adapter, got 2", "adapters[0].id"),
  );
  const lora = [{ id: 0, scale: 1 }];
  expect(await answerTo(handler, "/completion", { prompt: "a", lora })).toEqual(
    refused("lora: unsupported: the adapter is chosen by its", "lora"),
  );
  await handler.close();
});

test("metrics name the adapters with requests, and how full the cache is", async () => {
  const handler = handlerOf();
  const metrics = async (): Promise<string> => (await get(handler, "/metrics")).text();
  const info = (running: string): RegExp =>
    new RegExp(`^vllm:lora_requests_info{max_lora="2",running_lora_adapters="${running}",waiting_lora_adapters=""} 1\\d{9}`, "m");
  expect(await metrics()).toMatch(info(""));
  expect(await metrics()).toMatch(/^centella:kv_cache_usage\{model="fable"\} 0$/m);
  expect(await metrics()).toMatch(/^vllm:cache_config_info\{model_name="fable",block_size="32",num_gpu_blocks="64"\} 1$/m);
  const request = { messages: [{ role: "user", content: "Hello" }], max_tokens: 200, ignore_eos: true, stream: true };
  const readers = await Promise.all(
    ["fable", "fable:sea"].map(async (model) => (await post(handler, "/v1/chat/completions", { ...request, model })).body!.getReader()),
  );
  // A text takes its blocks when a part of it is read.
  for (const reader of readers) for (let i = 0; i < 3; i++) await reader.read();
  const during = await metrics();
  expect(during).toMatch(info("fable:sea"));
  for (const model of ["fable", "fable:sea"])
    expect(Number(new RegExp(`^vllm:kv_cache_usage_perc{model_name="${model}"} (\\S+)$`, "m").exec(during)![1])).toBeGreaterThan(0);
  await Promise.all(readers.map((reader) => reader.cancel()));
  expect(await metrics()).toMatch(info(""));
  expect(await metrics()).toMatch(/^vllm:kv_cache_usage_perc\{model_name="fable"\} 0$/m);
  await handler.close();
});

test("an adapter of an unknown model is refused", () => {
  const create = (adapter: object) => () => createHandler({ models: { fable: { ...adapted(), adapter: adapter as never } } });
  expect(create({ base: "other" })).toThrow('createHandler.models.fable.adapter.base: expected one of fable, got "other"');
  expect(create({ base: "fable", colour: 1 })).toThrow(expect.objectContaining({ name: "ArgumentError" }));
});
