import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createHandler } from "../src/index.ts";
import { version } from "../src/version.ts";
import { eventsOf, get, post, TestModel } from "./serving.ts";

const served = await TestModel.forFile();
const handler = served.handler();

async function answerTo(path: string, body?: object): Promise<unknown> {
  return (await (body === undefined ? get(handler, path) : post(handler, path, body))).json();
}

test("texts become tokens and texts again", async () => {
  const { tokenizer } = served.model;
  const ids = [...tokenizer.encode("a fox", { addSpecial: false })];
  expect(await answerTo("/tokenize", { content: "a fox" })).toEqual({ tokens: ids });
  expect(await answerTo("/tokenize", { content: "a fox", add_special: true })).toEqual({ tokens: [...tokenizer.encode("a fox")] });
  const { tokens } = (await answerTo("/tokenize", { content: "a fox é", with_pieces: true })) as { tokens: { piece: string | number[] }[] };
  const bytes = tokens.flatMap(({ piece }) => (typeof piece === "string" ? [...new TextEncoder().encode(piece)] : piece));
  expect(new TextDecoder().decode(new Uint8Array(bytes)).trim()).toBe("a fox é");
  expect(await answerTo("/detokenize", { tokens: ids })).toEqual({ content: tokenizer.decode(ids, { skipSpecial: false }) });
  expect(await answerTo("/detokenize", { tokens: [1e9] })).toMatchObject({ error: { code: "invalid_value" } });
});

test("the chat template is applied", async () => {
  const messages = [{ role: "user", content: "Hello" }];
  expect(await answerTo("/apply-template", { messages })).toEqual({ prompt: served.model.chatTemplate.render(messages) });
});

test("properties and sequences are those of the model, without its path", async () => {
  const props = await answerTo("/props");
  expect(props).toMatchObject({ total_slots: 4, model_alias: "fable", default_generation_settings: { n_ctx: 512 } });
  expect(JSON.stringify(props)).not.toContain(".gguf");
  expect(await answerTo("/slots")).toEqual([0, 1, 2, 3].map((id) => ({ id, n_ctx: 512, speculative: false, is_processing: false })));
});

test.each(["/completion", "/v1/completions", "/v1/chat/completions"])(
  "%s reports the progress of its prompt if it is asked to",
  async (path) => {
    const content = `${path} once upon a time`;
    const prompt = path.includes("chat") ? { messages: [{ role: "user", content }] } : { prompt: content };
    const body = { ...prompt, n_predict: 2, stream: true, return_progress: true };
    const reports = (await eventsOf(await post(handler, path, body)))
      .filter((event) => event.includes("prompt_progress"))
      .map((event) => (JSON.parse(event) as { prompt_progress: { total: number; cache: number; processed: number } }).prompt_progress);
    const { total, cache, processed } = reports[0]!;
    expect(processed).toBe(cache);
    expect(cache).toBeLessThan(total);
    expect(reports.at(-1)).toEqual({ total, cache, processed: total, time_ms: expect.any(Number) });
  },
);

test("texts are continued, as a whole and in pieces", async () => {
  const own = await served.model.createSession().complete("The fox", { raw: true, maxTokens: 8, temperature: 0, logprobs: 1 });
  const request = { prompt: "The fox", n_predict: 8, temperature: 0, n_probs: 1 };
  const whole = await answerTo("/completion", request);
  expect(whole).toMatchObject({
    content: own.text,
    tokens: own.ids,
    stop: true,
    stop_type: "limit",
    stopping_word: "",
    tokens_predicted: 8,
    tokens_evaluated: own.usage.promptTokens,
    completion_probabilities: own.logprobs!.map(({ logprob }) => ({ logprob })),
    timings: { predicted_n: 8 },
  });
  const events = await eventsOf(await post(handler, "/completion", { ...request, stream: true }));
  const lines = events.map((event) => JSON.parse(event) as { content: string; stop: boolean; tokens: number[] });
  expect(lines.map(({ content }) => content).join("")).toBe(own.text);
  expect(lines.map(({ stop }) => stop)).toEqual([...lines.slice(1).map(() => false), true]);
  const stop = own.text.slice(4, 7);
  expect(await answerTo("/completions", { ...request, prompt: own.promptIds, stop: [stop] })).toMatchObject({
    stop_type: "word",
    stopping_word: stop,
  });
  expect(await answerTo("/completion", { ...request, grammar: 'root ::= "yes"', n_predict: 20 })).toMatchObject({
    content: "yes",
    stop_type: "eos",
    timings: { draft_n: expect.any(Number), draft_n_accepted: expect.any(Number) },
  });
});

test("a gap is refused by a model whose vocabulary has no tokens for it", async () => {
  expect(await answerTo("/infill", { input_prefix: "a", input_suffix: "b" })).toMatchObject({ error: { code: "invalid_value" } });
});

test("vectors have llama-server's form", async () => {
  const [fox] = await served.model.embed(["a fox"]);
  expect(await answerTo("/embedding", { content: "a fox" })).toEqual([{ index: 0, embedding: [[...fox!]] }]);
});

test("vectors are pooled as the server's option says", async () => {
  const [fox] = await served.model.embed(["a fox"], { pooling: "last" });
  const last = served.handler({ pooling: "last" });
  expect(await (await post(last, "/embedding", { content: "a fox" })).json()).toEqual([{ index: 0, embedding: [[...fox!]] }]);
});

test("models are loaded and unloaded", async () => {
  let disposals = 0;
  const model = new Proxy(served.model, {
    get: (target, name) => (name === "dispose" ? async () => void disposals++ : Reflect.get(target, name, target)),
  });
  const lazy = createHandler({ models: { lazy: { load: async () => model, isLazy: true } } });
  const unload = (): Promise<Response> => post(lazy, "/models/unload", { model: "lazy" });
  expect((await unload()).status).toBe(400);
  expect(await (await post(lazy, "/models/load", { model: "lazy" })).json()).toEqual({ success: true });
  expect(await (await unload()).json()).toEqual({ success: true });
  expect(disposals).toBe(1);
  await lazy.close();
});

test("the version is that of the package", () => {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  expect(version, "write the version of package.json to src/version.ts").toBe(manifest.version);
});

test("several prompts have an answer each, by their numbers", async () => {
  const request = { n_predict: 4, temperature: 0, min_keep: 0, n_keep: 5, n_discard: 2, stop: "no such text" };
  const texts = await Promise.all(
    ["The fox", "The owl"].map(async (prompt) => ((await answerTo("/completion", { ...request, prompt })) as { content: string }).content),
  );
  const ids = [...served.model.tokenizer.encode("The owl")];
  const prompt = ["The fox", ids];
  expect(await answerTo("/completion", { ...request, prompt })).toMatchObject(texts.map((content, index) => ({ index, content })));
  expect(await answerTo("/completion", { ...request, prompt: ["The fox"] })).toMatchObject({ index: 0, content: texts[0] });
  const events = await eventsOf(await post(handler, "/completion", { ...request, prompt, stream: true }));
  const lines = events.map((event) => JSON.parse(event) as { index: number; content: string });
  const contentOf = (index: number): string =>
    lines
      .filter((line) => line.index === index)
      .map(({ content }) => content)
      .join("");
  expect([contentOf(0), contentOf(1)]).toEqual(texts);
  expect(await answerTo("/completion", { ...request, prompt: [1, "The fox"] })).toMatchObject({ error: { code: "invalid_value" } });
});
