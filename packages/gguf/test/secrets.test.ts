import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { shownUrl } from "../src/http/secrets.ts";
import { diskStorage, httpSource, openSource, pull, readGguf, removeModel } from "../src/index.ts";
import { randomFrom, randomModel } from "./faultyHub.ts";
import { sendFile, serve } from "./httpServer.ts";

const folder = mkdtempSync(join(tmpdir(), "gguf-secrets-"));
afterAll(() => rmSync(folder, { recursive: true }));
const storage = await diskStorage(folder);
const once = { storage, retries: 0 };
const bytes = randomModel(10_000, randomFrom(1));

const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail("it succeeded"),
    (error: unknown) => error,
  );

/** The secrets of these tests all have "hush" in them. Everything of an error is looked at: message, stack, fields and causes. */
function expectSecret(error: unknown): void {
  expect(error).toMatchObject({ name: "GgufError" });
  expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/hush/i);
}

describe("what is secret in a URL is in no error", () => {
  const refused = "http://hush1:hush2@127.0.0.1:1/m.gguf?token=hush3#hush4";
  test.each<[string, () => Promise<unknown>]>([
    ["pull, nobody answers", () => pull(refused, once)],
    ["httpSource, nobody answers", () => httpSource(refused, { retries: 0 })],
    ["another protocol", () => pull("ftp://hush1:hush2@host/m.gguf?hush3", once)],
    ["no URL", () => pull("http://hush1:hush2@:bad/?hush3", once)],
    ["no URL as endpoint", () => pull("hf:o/r", { ...once, endpoint: "http://hush1:hush2@:bad/?hush3" })],
    ["nobody answers at the endpoint", () => pull("hf:o/r", { ...once, endpoint: "http://hush1:hush2@127.0.0.1:1/" })],
    ["opening another protocol", () => openSource(new URL("ftp://hush1:hush2@127.0.0.1:1/m.gguf?hush3"))],
    ["removing what is not there", () => removeModel(storage, refused)],
    ["user and password that are no UTF-8", () => pull("http://hush1:%E0hush2@127.0.0.1:1/m.gguf", once)],
  ])("%s", async (_, run) => expectSecret(await errorOf(run())));

  test("a fetch of the caller that quotes it", async () => {
    const quoting: typeof fetch = async (input, init) => {
      throw new Error(`request to ${String(input)} with ${new Headers(init?.headers).get("Authorization")} failed`, { cause: input });
    };
    expectSecret(await errorOf(pull(refused, { ...once, fetch: quoting })));
    expectSecret(await errorOf(pull("hf:o/r", { ...once, fetch: quoting, token: "hush" })));
  });

  test("statuses, wrong answers, changed files", async () => {
    let answer: [number, Record<string, string>] = [404, {}];
    await using server = await serve((_, response) => void response.writeHead(...answer).end());
    const url = new URL("m.gguf?token=hush", server.url);
    url.password = "hush";
    for (answer of [
      [404, {}],
      [403, {}],
      [503, {}],
      [416, {}],
      [206, { "Content-Range": "bytes 7-8/9" }],
      [302, { Location: "http://a:hush@127.0.0.1:1/?hush" }],
      [302, { Location: "file:///hush" }],
      [200, {}],
    ] as [number, Record<string, string>][]) {
      expectSecret(await errorOf(pull(url, once)));
      expectSecret(await errorOf(httpSource(url, { retries: 0 }).then(readGguf)));
    }
  });
});

test.each(["hush\nhush", "hush\0", "hush☃"])("a token that HTTP cannot carry is refused, and not shown: %j", async (token) => {
  const error = await errorOf(pull("hf:o/r", { ...once, endpoint: "http://127.0.0.1:1/", token }));
  expectSecret(error);
  expect(error).toMatchObject({ code: "range", message: expect.stringMatching(/header Authorization .*; check the token$/) });
});

test("a header of the caller that HTTP cannot carry is refused at once", async () => {
  const error = await errorOf(httpSource("http://127.0.0.1:1/", { headers: { Cookie: "hush\nhush" }, retries: 1_000 }));
  expectSecret(error);
  expect(error).toMatchObject({ code: "range" });
});

test("user and password of a URL log in, and are neither recorded nor reported", async () => {
  const seen = new Set<string | undefined>();
  await using server = await serve((request, response) => {
    seen.add(request.headers.authorization);
    return sendFile(request, response, { size: bytes.length, read: (start, end) => bytes.subarray(start, end) });
  });
  const url = new URL("m.gguf?token=hush1", server.url);
  url.username = "jo";
  url.password = "hush:é";
  const reported: unknown[] = [];
  const pulled = await pull(url, { storage, onProgress: (progress) => void reported.push(progress) });
  await (await httpSource(url)).close?.();
  expect([...seen]).toEqual([`Basic ${Buffer.from("jo:hush:é").toString("base64")}`]);
  expect(JSON.stringify([reported, pulled, readdirSync(folder)])).not.toMatch(/hush|jo\b/);
  for (const name of readdirSync(folder)) expect(readFileSync(join(folder, name), "latin1")).not.toMatch(/hush/);
});

test.each([
  ["https://user:pw@host:1/a/b.gguf?c#d", "https://host:1/a/b.gguf"],
  ["ftp://user:pw@host/a?b", "ftp://host/a"],
  ["http://user:pw@:bad/a?b", "http://:bad/a"],
  ["data:text/plain,abc", "data:text/plain,abc"],
  ["models/what?.gguf", "models/what?.gguf"],
])("%s is shown as %s", (url, text) => expect(shownUrl(url)).toBe(text));
