import { expect, test } from "vitest";
import { strongAdapter } from "../../llm/test/strongAdapter.ts";
import { createHandler, type Handler, type HandlerOptions } from "../src/index.ts";
import { prometheusMetrics } from "../src/node/node.ts";
import { get, post, TestModel, tiny } from "./serving.ts";

const source = await strongAdapter(tiny);
const served = await TestModel.forFile({
  adapters: [
    { name: "sea", source },
    { name: "hill", source },
  ],
});

function handlerOf(options: Partial<HandlerOptions> = {}): Handler {
  const load = async () => served.model;
  return createHandler({
    models: { fable: { load, isLazy: true, adapters: { sea: 1, hill: 0 } } },
    metrics: prometheusMetrics({ names: ["centella", "vllm"], includesProcess: false }),
    ...options,
  });
}

const answerTo = async (handler: Handler, path: string, body?: object): Promise<unknown> =>
  (await (body === undefined ? get(handler, path) : post(handler, path, body))).json();

const textOf = async (handler: Handler, body: object): Promise<string> =>
  ((await answerTo(handler, "/completion", { prompt: "The fox", n_predict: 8, temperature: 0, ...body })) as { readonly content: string })
    .content;

const refused = (message: string, param: string): object => ({
  error: expect.objectContaining({ message: expect.stringContaining(message), param }),
});

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
    { id: 1, path: "fable:hill", scale: 0 },
  ]);
});

test("models with adapters are one engine, and requests set the scales", async () => {
  const handler = handlerOf();
  const [base, sea] = await Promise.all(["fable", "fable:sea"].map((model) => textOf(handler, { model })));
  expect(sea).not.toBe(base);
  expect(await textOf(handler, { model: "fable:hill" })).toBe(base);
  // llama-server's field, in the place of what the name says.
  expect(await textOf(handler, { lora: [{ id: 1, scale: 1 }] })).toBe(sea);
  expect(await textOf(handler, { model: "fable:sea", lora: [] })).toBe(base);
  const chat = { messages: [{ role: "user", content: "Hello" }], max_tokens: 8, temperature: 0 };
  const chats = [{}, { lora: [{ id: 0, scale: 1 }] }, { model: "fable:sea" }].map(async (more) => {
    const { choices } = (await answerTo(handler, "/v1/chat/completions", { ...chat, ...more })) as { choices: { message: unknown }[] };
    return choices[0]!.message;
  });
  const [plain, field, name] = await Promise.all(chats);
  expect([field, plain]).toEqual([name, expect.not.objectContaining(name as object)]);
  // A slot continues only what was computed with the same adapters.
  expect(await textOf(handler, { id_slot: 0 })).toBe(base);
  expect(await textOf(handler, { id_slot: 0, model: "fable:sea" })).toBe(sea);
  const vector = async (model: string) => answerTo(handler, "/v1/embeddings", { model, input: "a fox" });
  expect(await vector("fable:sea")).not.toMatchObject({ data: ((await vector("fable")) as { data: object[] }).data });

  // Adapters that are left out get 0.
  expect(await answerTo(handler, "/lora-adapters", [{ id: 1, scale: 1 }])).toEqual({ success: true });
  expect(await textOf(handler, { model: "fable:hill" })).toBe(sea);
  expect(await textOf(handler, { model: "fable:sea" })).toBe(base);
  for (const [path, body, param] of [
    ["/lora-adapters", [{ id: 2, scale: 1 }], "adapters[0].id"],
    [
      "/completion",
      {
        prompt: "a",
        lora: [
          { id: 0, scale: 1 },
          { id: -1, scale: 1 },
        ],
      },
      "lora[1].id",
    ],
  ] as const)
    expect(await answerTo(handler, path, body)).toEqual(refused("expected the id of an adapter, got", param));
  expect((await post(handler, "/lora-adapters", [{ id: 0, scale: "1" }])).status).toBe(400);
});

test("the adapters of a loaded model are models, and only for it", async () => {
  const handler = createHandler({ models: { other: { load: async () => served.model, isLazy: true }, fable: served.model } });
  expect(await answerTo(handler, "/lora-adapters")).toMatchObject([{ path: "fable:sea" }, { path: "fable:hill", scale: 1 }]);
  expect(await answerTo(handler, "/completion", { model: "other", prompt: "a", lora: [{ id: 1, scale: 1 }] })).toEqual(
    refused("expected an adapter of other, got 1, which is fable:hill", "lora[0].id"),
  );
});

test("metrics name the adapters with requests, and how full the cache is", async () => {
  const handler = handlerOf();
  const metrics = async (): Promise<string> => (await get(handler, "/metrics")).text();
  const info = (running: string): RegExp =>
    new RegExp(`^vllm:lora_requests_info{max_lora="2",running_lora_adapters="${running}",waiting_lora_adapters=""} 1\\d{9}`, "m");
  expect(await metrics()).toMatch(info(""));
  const request = { messages: [{ role: "user", content: "Hello" }], max_tokens: 200, ignore_eos: true, stream: true };
  const readers = await Promise.all(
    ["fable", "fable:sea"].map(async (model) => (await post(handler, "/v1/chat/completions", { ...request, model })).body!.getReader()),
  );
  // A text takes its blocks when a part of it is read.
  for (const reader of readers) for (let i = 0; i < 3; i++) await reader.read();
  const during = await metrics();
  expect(during).toMatch(info("fable:sea"));
  expect(during).toMatch(/^vllm:num_requests_running{model_name="fable"} 2$/m);
  expect(during).not.toMatch(/^vllm:num_requests_(running|waiting){model_name="fable:sea"}/m);
  expect(Number(/^vllm:kv_cache_usage_perc{model_name="fable"} (\S+)$/m.exec(during)![1])).toBeGreaterThan(0);
  expect(during).toMatch(/^vllm:cache_config_info\{model_name="fable",block_size="32",num_gpu_blocks="64"\} 1$/m);
  await Promise.all(readers.map((reader) => reader.cancel()));
  expect(await metrics()).toMatch(info(""));
  expect(await metrics()).toMatch(/^centella:kv_cache_usage\{model="fable"\} 0$/m);
});

test("adapters with wrong scales and taken names are refused", () => {
  const load = async () => served.model;
  const create = (models: object) => () => createHandler({ models: models as never });
  expect(create({ fable: { load, adapters: { sea: "1" } } })).toThrow(
    "createHandler.models.fable: expected adapters.sea to be a finite number",
  );
  expect(create({ fable: { load, adapters: { sea: 1 } }, "fable:sea": { load } })).toThrow("two of the name fable:sea");
});
