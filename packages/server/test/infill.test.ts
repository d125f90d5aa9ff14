import { loadModel } from "@centella/llm";
import { afterAll, expect, test, vi } from "vitest";
import { tiny, withMetadata } from "../../llm/test/modelFiles.ts";
import { TextMeter } from "../src/generation/textMeter.ts";
import { createHandler } from "../src/index.ts";
import { eventsOf, post, TestModel } from "./serving.ts";

const tokenOf = (name: string, value: number) => ({ key: `tokenizer.ggml.${name}_token_id`, type: "u32", value }) as const;
// Tokens that texts of the model have no use for.
const markup = [tokenOf("fim_pre", 2), tokenOf("fim_suf", 3), tokenOf("fim_mid", 4), tokenOf("fim_rep", 5), tokenOf("fim_sep", 6)];

const served = await TestModel.forFile();
const { runtime } = served;
const model = await loadModel(await withMetadata(tiny, [...markup, tokenOf("eos", 1)]), { runtime, contextLength: 512, sequences: 2 });
const handler = createHandler({ models: { fable: model } });
afterAll(async () => {
  await handler.close();
  await model.dispose();
});

const answerTo = async (body: object, path = "/infill"): Promise<unknown> => (await post(handler, path, body)).json();

const gap = { input_prefix: "Once upon a time\n", input_suffix: "\nThe end.\n", prompt: "there was a " };
const chunks = [{ text: "A fox.\n", filename: "fox.txt", time: [1, 2] }];
const greedy = { maxTokens: 8, temperature: 0, ignoreEos: true };
const enginesGap = { prefix: gap.input_prefix + gap.prompt, suffix: gap.input_suffix };

/** What editors send for a gap. */
const editorsRequest = {
  ...gap,
  input_extra: chunks,
  n_predict: 8,
  ignore_eos: true,
  n_indent: 2,
  top_k: 1,
  top_p: 0.99,
  stop: [],
  stream: false,
  samplers: ["top_k", "top_p", "infill"],
  cache_prompt: true,
  t_max_prompt_ms: 500,
  t_max_predict_ms: 600_000,
};

test("an editor's gap is filled after the text of other files", async () => {
  const files = [{ name: "fox.txt", text: "A fox.\n" }];
  const own = await model.createSession().complete({ ...enginesGap, files }, greedy);
  expect(await answerTo(editorsRequest)).toMatchObject({
    content: own.text,
    tokens_evaluated: own.usage.promptTokens,
    tokens_predicted: 8,
    truncated: false,
    stop_type: "limit",
  });
  const alone = await model.createSession().complete({ ...enginesGap, files: [] }, greedy);
  expect(await answerTo({ ...gap, n_predict: 8, temperature: 0, ignore_eos: true })).toMatchObject({ content: alone.text });
  expect(alone.usage.promptTokens).toBeLessThan(own.usage.promptTokens);
  const lines = (await eventsOf(await post(handler, "/infill", { ...editorsRequest, stream: true }))).map((line) => JSON.parse(line));
  expect(lines.map(({ content }) => content).join("")).toBe(own.text);
});

test("an answer has the fields that it is asked for, under their paths", async () => {
  const response_fields = [
    "content",
    "timings/prompt_n",
    "timings/predicted_n",
    "truncated",
    "tokens_cached",
    "no/such/field",
    "__proto__",
  ];
  const answer = await answerTo({ ...editorsRequest, response_fields });
  expect(answer).toEqual({
    content: expect.any(String),
    "timings/prompt_n": expect.any(Number),
    "timings/predicted_n": 8,
    truncated: false,
    tokens_cached: expect.any(Number),
  });
  const lines = await eventsOf(await post(handler, "/infill", { ...editorsRequest, stream: true, response_fields: ["stop", "timings"] }));
  expect(JSON.parse(lines.at(-1)!)).toEqual({ stop: true, timings: expect.any(Object) });
});

test("a request for no tokens computes the prompt for the next one", async () => {
  const warmUp = { input_prefix: "", input_suffix: "", prompt: "", input_extra: [{ text: "An owl sat in a tree. ".repeat(10) }] };
  const settings = { n_predict: 0, temperature: 0, samplers: [], t_max_prompt_ms: 1, t_max_predict_ms: 1 };
  expect(await answerTo({ ...warmUp, ...settings, response_fields: [""] })).toEqual({});
  const answer = await answerTo({ ...warmUp, ...gap, n_predict: 1 });
  // The files, before the text with the gap.
  expect((answer as { tokens_cached: number }).tokens_cached).toBeGreaterThan(60);
  const empty = { content: "", tokens: [], tokens_predicted: 0, stop_type: "limit" };
  expect(await answerTo({ ...gap, n_predict: 0, n_probs: 1 })).toMatchObject(empty);
  expect(await answerTo({ ...gap, n_predict: 0, n_probs: 1 })).not.toHaveProperty("completion_probabilities");
  const lines = await eventsOf(await post(handler, "/completion", { prompt: "A fox", n_predict: 0, stream: true }));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ ...empty, stop: true }]);
});

test("a text that has a line ends when its time is over", async () => {
  const request = { prompt: "The fox", grammar: 'root ::= [a-z ]{20} "\\n" [a-z ]{200}', temperature: 0, n_predict: 400 };
  // Every token comes later than this.
  const limited = (await answerTo({ ...request, t_max_predict_ms: 0.001 }, "/completion")) as { content: string };
  expect(limited).toMatchObject({ content: expect.stringContaining("\n"), stop_type: "limit" });
  const free = (await answerTo({ ...request, t_max_predict_ms: 0 }, "/completion")) as { content: string };
  expect(free).toMatchObject({ content: expect.stringMatching(/^[a-z ]{20}\n[a-z ]{200}$/), stop_type: "eos" });
  expect(free.content.startsWith(limited.content)).toBe(true);
  expect(limited.content.length).toBeLessThan(free.content.length);
});

test("the time of a text runs from its first token", () => {
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  const meter = new TextMeter({ textMs: 500 }, new AbortController().signal);
  const write = (text: string): boolean => {
    meter.count({ type: "text", text, ids: [1] });
    return meter.signal.aborted;
  };
  meter.count({ type: "prefill", done: 1, total: 1 });
  now = 2000;
  expect(write("a")).toBe(false);
  now = 2600;
  expect([write("b"), write("c\nd"), write("e")]).toEqual([false, true, true]);
  clock.mockRestore();
});

test.each<readonly [string, object, string]>([
  ["a prefix of a wrong type", { ...gap, input_prefix: 1 }, "input_prefix"],
  ["a file without text", { ...gap, input_extra: [{ filename: "a" }] }, "input_extra[0].text"],
  ["an unknown field of a file", { ...gap, input_extra: [{ text: "a", colour: 1 }] }, "input_extra[0].colour"],
  ["an unknown step", { ...gap, samplers: ["guess"] }, "samplers[0]"],
  ["steps that keep two tokens", { ...gap, min_keep: 2 }, "min_keep"],
  ["probabilities after sampling", { ...gap, post_sampling_probs: true }, "post_sampling_probs"],
])("%s is refused", async (_, body, param) => {
  const answer = await answerTo(body);
  expect(answer).toMatchObject({ error: { param, message: expect.not.stringContaining("never") } });
});

test("files beyond the context are refused, not cut", async () => {
  const response = await post(handler, "/infill", { ...gap, input_extra: [{ text: "fox ".repeat(600) }] });
  expect([response.status, await response.json()]).toMatchObject([400, { error: { code: "context_length_exceeded" } }]);
});
