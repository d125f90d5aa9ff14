import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { isRequired, launchChromium } from "@centella/test-devices";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { start } from "../start.ts";

const tiny = fileURLToPath(new URL("../../../packages/model-fable/models/fable-tiny-q8_0.gguf", import.meta.url));

type Browser = Exclude<Awaited<ReturnType<typeof launchChromium>>, string>;
type Page = Awaited<ReturnType<Browser["newPage"]>>;

let browser: Browser | string;
let server: Server;
let url: string;
/** The example in a page that has told its story. */
let page: Page;
let story: string;

beforeAll(async () => {
  browser = await launchChromium();
  server = await start(tiny, 0, ["@centella/source"]);
  url = `http://localhost:${(server.address() as AddressInfo).port}/`;
  if (typeof browser === "string") return;
  page = await (await browser.newContext()).newPage();
  await page.goto(url);
  const paragraph = page.locator("#story[data-is-done]");
  await paragraph.waitFor({ state: "attached" });
  story = (await paragraph.textContent()) ?? "";
});

afterAll(async () => {
  if (typeof browser !== "string") await browser.close();
  server.close();
});

beforeEach(({ skip }) => {
  if (typeof browser !== "string") return;
  if (isRequired("webgpu")) throw new Error(browser);
  skip(browser);
});

/** The value of a function with this body in a page. It may call `chat`, which requests a story. */
function inPage<T>(where: Page, body: string): Promise<T> {
  const prelude = `
    const chat = (fields, init) => fetch("/v1/chat/completions", {
      method: "POST",
      body: JSON.stringify({ messages: [{ role: "user", content: "Tell me a story about a fox." }], temperature: 0, ...fields }),
      ...init,
    });`;
  return where.evaluate(`(async () => { ${prelude} ${body} })()`) as Promise<T>;
}

/** From now on, the model's worker in a page sends the first chunk of an answer alone. Such an answer does not end while the page is open. */
async function keepAnswersOpen(where: Page): Promise<void> {
  const models = where.workers().find((worker) => worker.url() === `${url}models.js`);
  await models!.evaluate(`{
    const { postMessage } = MessagePort.prototype;
    let chunks = 0;
    MessagePort.prototype.postMessage = function (message, ...rest) {
      if (message.type !== "chunk" || chunks++ === 0) postMessage.call(this, message, ...rest);
    };
  }`);
}

test("the official client streams a story in the page, and other requests are answered, too", async () => {
  expect(story).toMatch(/^\w.*fox/s);
  const whole = await inPage<{ text: string; usage: { completion_tokens: number }; id: string; models: string[]; missing: number }>(
    page,
    `const response = await chat({ max_tokens: 60 });
     const { choices, usage } = await response.json();
     const models = (await (await fetch("/v1/models")).json()).data.map(({ id }) => id);
     const missing = (await fetch("/v1/none")).status;
     return { text: choices[0].message.content, usage, id: response.headers.get("x-request-id"), models, missing };`,
  );
  expect(whole).toMatchObject({ text: story, usage: { completion_tokens: 60 }, models: ["story"], missing: 404 });
  expect(whole.id).toMatch(/^[\w-]{36}$/);
});

test("a service worker that the browser has ended starts again", async () => {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("ServiceWorker.enable");
  await devtools.send("ServiceWorker.stopAllWorkers");
  expect(await inPage(page, "return (await chat({ max_tokens: 1 })).status;")).toBe(200);
});

test("a page without a model is answered by another page's, until that page is closed", async () => {
  const other = await page.context().newPage();
  await other.goto(`${url}none`);
  const streamed = await inPage<string>(
    other,
    `const text = await (await chat({ max_tokens: 60, stream: true })).text();
     const chunks = text.split("\\n\\n").filter((line) => line.startsWith("data: {")).map((line) => JSON.parse(line.slice(6)));
     return chunks.map(({ choices }) => choices[0].delta.content ?? "").join("");`,
  );
  expect(streamed).toBe(story);
  await keepAnswersOpen(page);
  const reading = inPage<string>(
    other,
    `const response = await chat({ max_tokens: 60, stream: true });
     const reader = response.body.getReader();
     await reader.read();
     globalThis.isStreaming = true;
     return reader.read().then(() => "a chunk or the end", (error) => error.name);`,
  );
  await other.waitForFunction("globalThis.isStreaming");
  await page.close();
  expect(await reading).toBe("TypeError");
  const refused = await inPage(
    other,
    `const refusal = async (path) => {
       const response = await fetch(path, { method: "POST", body: "{}" });
       return [response.status, response.headers.get("retry-after"), (await response.json()).error.type];
     };
     return Promise.all(["/v1/chat/completions", "/v1/messages"].map(refusal));`,
  );
  expect(refused).toEqual([
    [503, "1", "unavailable_error"],
    [503, "1", "overloaded_error"],
  ]);
});
