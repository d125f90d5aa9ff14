import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Handler } from "../src/index.ts";
import { slotFiles } from "../src/node/node.ts";
import { eventsOf, get, post, TestModel } from "./serving.ts";

const folder = mkdtempSync(join(tmpdir(), "centella-"));
afterAll(() => rmSync(folder, { recursive: true }));

const served = await TestModel.forFile({ sequences: 2 });
const other = await TestModel.forFile({ sequences: 2 });
const [handler, second] = [served, other].map((each) => each.handler({ slotStore: slotFiles(join(folder, "slots")) })) as [
  Handler,
  Handler,
];

const prompt = "Once upon a time there was a little fox who lived in the forest. ".repeat(8);
const request = { prompt, n_predict: 4, temperature: 0 };

async function answerTo(to: Handler, path: string, body: object | string = {}): Promise<Record<string, unknown>> {
  return (await (await post(to, path, body)).json()) as Record<string, unknown>;
}

async function slotsOf(to: Handler): Promise<readonly object[]> {
  return (await (await get(to, "/slots")).json()) as readonly object[];
}

test("a slot is saved, and another server continues it", async () => {
  expect(await slotsOf(handler)).toEqual([0, 1].map((id) => ({ id, n_ctx: 512, speculative: false, is_processing: false })));
  const first = await answerTo(handler, "/completion", { ...request, id_slot: 1 });
  expect(first).toMatchObject({ id_slot: 1, tokens_cached: 0 });
  const tokens = first.tokens_evaluated as number;
  expect((await slotsOf(handler))[1]).toEqual({
    id: 1,
    n_ctx: 512,
    speculative: false,
    is_processing: false,
    n_prompt_tokens: tokens + 4,
    n_prompt_tokens_processed: tokens,
    n_prompt_tokens_cache: 0,
    next_token: [{ has_next_token: false, n_decoded: 4 }],
  });
  const saved = await answerTo(handler, "/slots/1?action=save", { filename: "fox.bin" });
  // The last token is chosen, but not computed.
  expect(saved).toEqual({
    id_slot: 1,
    filename: "fox.bin",
    n_saved: tokens + 3,
    n_written: expect.any(Number),
    timings: { save_ms: expect.any(Number) },
  });
  expect(readdirSync(join(folder, "slots"))).toEqual(["fox.bin"]);

  expect(await answerTo(second, "/slots/0?action=restore", { filename: "fox.bin" })).toEqual({
    id_slot: 0,
    filename: "fox.bin",
    n_restored: tokens + 3,
    n_read: saved.n_written,
    timings: { restore_ms: expect.any(Number) },
  });
  // Texts that do not name the slot do not use what came from a file.
  expect(await answerTo(second, "/completion", request)).toMatchObject({ content: first.content, tokens_cached: 0 });
});

test("a restored slot computes only what is new, also in a chat, and can be erased", async () => {
  const messages = [{ role: "user", content: prompt }];
  const chat = { messages, max_tokens: 3, temperature: 0, id_slot: 0 };
  const cachedOf = async (to: Handler): Promise<unknown> => {
    const { usage } = (await answerTo(to, "/v1/chat/completions", chat)) as { usage: { prompt_tokens_details: object } };
    return usage.prompt_tokens_details;
  };
  await cachedOf(handler);
  const { n_saved: count } = await answerTo(handler, "/slots/0?action=save", { filename: "chat.bin" });
  const fresh = await TestModel.load({ sequences: 2 });
  const third = fresh.handler({ slotStore: slotFiles(join(folder, "slots")) });
  await answerTo(third, "/slots/0?action=restore", { filename: "chat.bin" });
  expect(await cachedOf(third)).toEqual({ cached_tokens: (count as number) - 3 });
  expect(await cachedOf(third)).toEqual({ cached_tokens: (count as number) - 3 });
  expect(await answerTo(third, "/slots/0?action=erase", "")).toEqual({ id_slot: 0, n_erased: (count as number) + 1 });
  expect(await cachedOf(third)).toEqual({ cached_tokens: 0 });
  await fresh[Symbol.asyncDispose]();
});

test("a text waits for the slot that it names", async () => {
  const stream = await post(handler, "/completion", { ...request, n_predict: 60, ignore_eos: true, id_slot: 0, stream: true });
  expect((await slotsOf(handler)).map((slot) => (slot as { is_processing: boolean }).is_processing)).toEqual([true, false]);
  const leave = new AbortController();
  const left = post(handler, "/completion", { ...request, id_slot: 0 }, { signal: leave.signal });
  const waiting = answerTo(handler, "/completion", { ...request, n_predict: 1, id_slot: 0 });
  leave.abort();
  expect((await left).status).toBe(499);
  const order = await Promise.race([waiting.then(() => "second"), eventsOf(stream).then(() => "first")]);
  expect(order).toBe("first");
  expect(await waiting).toMatchObject({ id_slot: 0, tokens_predicted: 1 });
  expect((await get(handler, "/slots?fail_on_no_slot=1")).status).toBe(200);
});

test("no path is opened outside the folder, and wrong requests are named", async () => {
  writeFileSync(join(folder, "secret"), "secret");
  const wrong = [
    "../secret",
    "..",
    ".",
    "",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "a..b",
    ".hidden",
    "a.",
    "nul",
    "COM1.bin",
    "a\u0000",
    "é",
    "a:b",
  ];
  for (const filename of wrong)
    for (const action of ["save", "restore"])
      expect(await answerTo(handler, `/slots/0?action=${action}`, { filename }), filename).toEqual({
        error: expect.objectContaining({ code: "invalid_value", param: "filename" }),
      });
  await expect(async () => slotFiles(folder).read("../x")).rejects.toThrow("expected a plain name");
  const cases = [
    ["/slots/0?action=restore", { filename: "missing" }, "filename: expected the name of a saved slot"],
    ["/slots/0?action=save", {}, "filename: expected a string, got nothing"],
    ["/slots/2?action=erase", {}, "id: expected a slot below 2, got 2"],
    ["/slots/x?action=erase", {}, "id: expected a slot below 2, got NaN"],
    ["/slots/0?action=fly", {}, 'action: expected save, restore or erase, got "fly"'],
    ["/slots/0", {}, "action: expected save, restore or erase"],
    ["/completion", { ...request, id_slot: 2 }, "id_slot: expected a slot below 2, got 2"],
  ] as const;
  for (const [path, body, message] of cases)
    expect(await answerTo(handler, path, body), path).toEqual({
      error: expect.objectContaining({ message: expect.stringContaining(message) }),
    });
  writeFileSync(join(folder, "slots", "broken"), "no snapshot");
  const broken = await post(handler, "/slots/0?action=restore", { filename: "broken" });
  expect([broken.status, await broken.json()]).toEqual([400, { error: expect.objectContaining({ code: "invalid_value" }) }]);
  const closed = await post(served.handler(), "/slots/0?action=erase", "");
  expect([closed.status, await closed.json()]).toEqual([501, { error: expect.objectContaining({ code: "not_enabled" }) }]);
});
