import { expect, test } from "vitest";
import { get, post, TestModel } from "./serving.ts";

const served = await TestModel.forFile();
const handler = served.handler();
const messages = [{ role: "user", content: "Tell me a story about a fox." }];

interface Choice {
  readonly text: string;
  readonly message: { readonly content: string };
  readonly logprobs: { readonly content: readonly Probabilities[]; readonly top_logprobs: readonly object[] };
}

interface Probabilities {
  readonly top_logprobs: readonly object[];
}

interface Answers {
  readonly choices: readonly Choice[];
  readonly output: readonly { readonly content: readonly { readonly text: string; readonly logprobs: readonly Probabilities[] }[] }[];
  readonly content: readonly { readonly text: string }[];
}

interface Api {
  readonly path: string;
  /** A request for some tokens. */
  readonly body: object;
  textOf(answer: Answers): string;
}

const apis: readonly Api[] = [
  { path: "/v1/chat/completions", body: { messages, max_tokens: 12 }, textOf: ({ choices }) => choices[0]!.message.content },
  { path: "/v1/responses", body: { input: messages, max_output_tokens: 12 }, textOf: ({ output }) => output[0]!.content[0]!.text },
  { path: "/v1/messages", body: { model: "fable", messages, max_tokens: 12 }, textOf: ({ content }) => content[0]!.text },
];

const answerTo = async (path: string, body: object): Promise<Answers> => {
  const response = await post(handler, path, body);
  expect(response.status).toBe(200);
  return (await response.json()) as Answers;
};

test.each(apis)("$path samples as the engine does", async ({ path, body, textOf }) => {
  for (const [fields, options] of [
    [{ seed: 7 }, { seed: 7 }],
    [
      { seed: 7, min_p: 0.3, temperature: 1.5, top_p: 1, top_k: 0 },
      { seed: 7, minP: 0.3, temperature: 1.5, topP: 1, topK: 0 },
    ],
    [{ top_k: 1, timings_per_token: true }, { topK: 1 }],
    [
      { seed: 3, typ_p: 0.5 },
      { seed: 3, typicalP: 0.5 },
    ],
  ] as const) {
    const own = await served.model.createSession().complete(messages, { maxTokens: 12, ...options });
    expect(textOf(await answerTo(path, { ...body, ...fields }))).toBe(own.text);
  }
});

test.each(apis)("$path continues a slot", async ({ path, body }) => {
  await answerTo(path, { ...body, id_slot: 2 });
  const slots = (await (await get(handler, "/slots")).json()) as readonly { readonly n_prompt_tokens?: number }[];
  expect(slots[2]!.n_prompt_tokens).toBeGreaterThan(10);
  const response = await post(handler, path, { ...body, id_slot: 99 });
  expect([response.status, JSON.stringify(await response.json())]).toEqual([400, expect.stringContaining("id_slot")]);
});

test("n_probs is the number of alternatives, under the name of llama-server", async () => {
  const [chat, responses] = apis as readonly [Api, Api, Api];
  const asked = await answerTo(chat.path, { ...chat.body, n_probs: 3 });
  expect(asked.choices[0]!.logprobs.content[0]!.top_logprobs).toHaveLength(3);
  const none = await answerTo(chat.path, { ...chat.body, n_probs: 0 });
  expect(none.choices[0]!.logprobs).toBeNull();
  const chosen = await answerTo(chat.path, { ...chat.body, n_probs: 0, logprobs: true });
  expect(chosen.choices[0]!.logprobs.content[0]!.top_logprobs).toHaveLength(0);
  const { output } = await answerTo(responses.path, { ...responses.body, n_probs: 2 });
  expect(output[0]!.content[0]!.logprobs[0]!.top_logprobs).toHaveLength(2);
  const plain = await answerTo("/v1/completions", { prompt: "The fox", max_tokens: 2, n_probs: 4 });
  expect(Object.keys(plain.choices[0]!.logprobs.top_logprobs[0]!)).toHaveLength(4);
  for (const [path, body] of [
    [chat.path, { ...chat.body, n_probs: 3, top_logprobs: 2 }],
    ["/v1/completions", { prompt: "The fox", n_probs: 3, logprobs: 2 }],
    ["/v1/completions", { prompt: "The fox", n_probs: 3, echo: true }],
  ] as const)
    expect((await post(handler, path, body)).status).toBe(400);
});

test("of several limits, the least holds", async () => {
  const body = { prompt: "The fox", ignore_eos: true, max_tokens: 5, n_predict: 3 };
  expect(await answerTo("/v1/completions", body)).toMatchObject({ usage: { completion_tokens: 3 } });
  expect(await answerTo("/v1/completions", { ...body, n_predict: -1 })).toMatchObject({ usage: { completion_tokens: 5 } });
});

test("text after a gap is not dropped because the prompt has ids", async () => {
  const response = await post(handler, "/v1/completions", { prompt: [1, 2], suffix: "end" });
  expect([response.status, await response.json()]).toMatchObject([400, { error: { param: "suffix" } }]);
});
