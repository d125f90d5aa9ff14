import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Handler } from "../src/index.ts";
import { version } from "../src/version.ts";
import { get, post, TestModel } from "./serving.ts";

let served: TestModel;
let handler: Handler;

beforeAll(async () => {
  served = await TestModel.load();
  handler = served.handler();
});

afterAll(async () => {
  await handler.close();
  await served[Symbol.asyncDispose]();
});

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
  expect(await answerTo("/slots")).toEqual([0, 1, 2, 3].map((id) => ({ id, n_ctx: 512, is_processing: false })));
});

test("the version is that of the package", () => {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  expect(version, "write the version of package.json to src/version.ts").toBe(manifest.version);
});
