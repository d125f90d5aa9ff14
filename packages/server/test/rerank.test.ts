import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { afterAll, expect, test } from "vitest";
import { familyModel, readFamilyGolden } from "../../llm/test/familyFixture.ts";
import { createHandler, type ServerEvent } from "../src/index.ts";
import { get, post, TestModel } from "./serving.ts";

const golden = readFamilyGolden("bert-rank");
const { query, documents, ids, scores } = golden.ranked!;
const best = documents.map((_, index) => index).toSorted((a, b) => scores[b]! - scores[a]!);

const served = await TestModel.forFile();
const runtime = await createRuntime({ backends: [] });
const ranker = await loadModel(familyModel(golden), { runtime });
const handler = createHandler({ models: { ranker, fable: served.model } });
afterAll(async () => {
  await handler.close();
  await ranker.dispose();
  await runtime.dispose();
});

interface RerankAnswer {
  readonly model: string;
  readonly object: string;
  readonly usage: object;
  readonly results: readonly { readonly index: number; readonly relevance_score: number; readonly document?: object }[];
}

async function rerank(body: object, path = "/v1/rerank"): Promise<RerankAnswer> {
  const response = await post(handler, path, { model: "ranker", query, documents, ...body });
  expect(response.status).toBe(200);
  return (await response.json()) as RerankAnswer;
}

test.each(["/rerank", "/v1/rerank", "/reranking", "/v1/reranking"])("%s sorts documents by llama.cpp's scores", async (path) => {
  const { results, ...rest } = await rerank({}, path);
  const tokens = ids.flat().length;
  expect(rest).toEqual({ model: "ranker", object: "list", usage: { prompt_tokens: tokens, total_tokens: tokens } });
  expect(results.map(({ index }) => index)).toEqual(best);
  for (const { index, relevance_score } of results) expect(relevance_score).toBeCloseTo(scores[index]!, 4);
});

test("documents may be objects, and the best come back with their texts", async () => {
  const { results } = await rerank({ documents: documents.map((text) => ({ text })), top_n: 2, return_documents: true });
  expect(results.map(({ index, document }) => ({ index, document }))).toEqual(
    best.slice(0, 2).map((index) => ({ index, document: { text: documents[index] } })),
  );
});

test.each<readonly [name: string, body: object, code: string, param: string | null, message: RegExp]>([
  ["no query", { query: undefined }, "missing_parameter", "query", /query/],
  ["no documents", { documents: [] }, "invalid_value", "documents", /documents/],
  ["a document of a wrong type", { documents: [7] }, "invalid_value", "documents[0]", /documents\[0\]/],
  ["an image", { documents: [{ text: "a", image: "b" }] }, "unknown_parameter", "documents[0].image", /image/],
  ["top_n: 0", { top_n: 0 }, "invalid_value", "top_n", /top_n/],
  ["documents that are to be cut", { max_tokens_per_doc: 8 }, "unsupported_parameter", "max_tokens_per_doc", /never cut/],
  ["a model that does not rank", { model: "fable" }, "unsupported_value", null, /no classification head/],
  [
    "a document beyond the context",
    { documents: ["w1", "w1 ".repeat(90)] },
    "context_length_exceeded",
    null,
    /documents\[1\] with the query: expected at most 64 tokens .* got 94/,
  ],
])("%s is refused by name", async (_, body, code, param, message) => {
  const response = await post(handler, "/v1/rerank", { model: "ranker", query, documents, ...body });
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({
    error: { message: expect.stringMatching(message), type: "invalid_request_error", code, param },
  });
});

test("an unknown model is 404, and the fields are described", async () => {
  expect((await post(handler, "/rerank", { model: "other", query, documents })).status).toBe(404);
  const { paths } = (await (await get(handler, "/openapi.json")).json()) as { readonly paths: Readonly<Record<string, object>> };
  expect(paths["/v1/reranking"]).toMatchObject({
    post: { requestBody: { content: { "application/json": { schema: { required: ["query", "documents"] } } } } },
  });
});

test("a ranking waits in the queue and gives its place back", async () => {
  const events: ServerEvent[] = [];
  const unsubscribe = handler.events.subscribe((event) => events.push(event));
  await rerank({});
  unsubscribe();
  expect(events.map(({ type }) => type)).toEqual(["queued", "dequeued", "released", "computed", "response"]);
  expect(events.at(-1)).toMatchObject({ route: "/rerank", status: 200 });
});

test("vectors are cut by the engine, and more dimensions than they have are refused", async () => {
  const [cut] = await served.model.embed(["a fox"], { dimensions: 8 });
  const response = await post(handler, "/v1/embeddings", { model: "fable", input: "a fox", dimensions: 8 });
  expect(await response.json()).toMatchObject({ data: [{ embedding: [...cut!] }] });
  const most = served.model.info.embeddingLength;
  const refused = await post(handler, "/v1/embeddings", { model: "fable", input: "a fox", dimensions: most + 1 });
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({
    error: { code: "invalid_value", param: "dimensions", message: expect.stringContaining(`${most}`) },
  });
});
