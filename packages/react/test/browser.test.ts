import type { IncomingMessage, ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { describeInChromium, runPageTests, serveBundle } from "@centella/test-devices/browserTests";
import { afterAll, expect, test } from "vitest";
import { serve } from "../../gguf/test/httpServer.ts";
import { tiny } from "./tiny.ts";

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const scripts = { engine: pathOf("pages/engine.ts") };

/** Another origin with the model at every path, of which it sends a half until it is told to go on. */
function heldModels() {
  const starts: Record<string, number[]> = {};
  const isOpen = new Set<string>();
  const waiting: (() => void)[] = [];
  return serve(async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, search } = new URL(request.url!, "http://localhost");
    response.setHeader("Access-Control-Allow-Origin", "*");
    response.setHeader("Access-Control-Expose-Headers", "Content-Range, Content-Length, ETag");
    if (search === "?starts") return void response.end(JSON.stringify(starts[pathname]));
    if (search === "?go-on") {
      isOpen.add(pathname);
      for (const wake of waiting.splice(0)) wake();
      return void response.end();
    }
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
    const [start, end] = [Number(first ?? 0), last ? Number(last) + 1 : tiny.length];
    // Requests for one byte compare the file with the server's.
    if (end - start > 1) starts[pathname] = [...(starts[pathname] ?? []), start];
    const headers = { "Content-Range": `bytes ${start}-${end - 1}/${tiny.length}`, "Content-Length": end - start, ETag: '"1"' };
    response.writeHead(first === undefined ? 200 : 206, first === undefined ? { "Content-Length": end, ETag: '"1"' } : headers);
    const half = Math.min(end, Math.max(start, tiny.length >> 1));
    response.write(tiny.subarray(start, half));
    if (half < end && !isOpen.has(pathname)) await new Promise<void>((resolve) => waiting.push(resolve));
    response.end(tiny.subarray(half, end));
  });
}

describeInChromium("in Chromium", async (browser) => {
  const models = await heldModels();
  afterAll(() => models[Symbol.asyncDispose]());
  const results = await runPageTests(browser, ["react.test.ts", "chat.test.ts", "pages/downloads.ts"].map(pathOf), {
    scripts,
    replaced: { [pathOf("tiny.ts")]: pathOf("pages/tiny.ts") },
    files: { "/model.gguf": tiny, "/server.json": new TextEncoder().encode(JSON.stringify({ server: models.url.href })) },
  });
  test.each(results)("$name", ({ error }) => {
    expect(error).toBeUndefined();
  });

  test("a conversation goes on after a reload", async () => {
    await using served = await serveBundle({ scripts: { ...scripts, main: pathOf("pages/chatApp.ts") }, files: { "/model.gguf": tiny } });
    const page = await browser.newPage();
    const texts = page.locator("p");
    const send = page.getByRole("button", { name: "Send" });
    const tokens = async (index: number): Promise<number> => Number(await texts.nth(index).getAttribute("data-prompt-tokens"));
    await page.goto(served.url);
    await send.click();
    await page.locator("p:nth-of-type(2)[data-prompt-tokens]").waitFor();
    await send.and(page.locator(":enabled")).waitFor();
    const before = await texts.allTextContents();
    await page.reload();
    await expect.poll(() => texts.allTextContents()).toEqual(before);
    await send.click();
    await page.locator("p:nth-of-type(4)[data-prompt-tokens]").waitFor();
    // The prompt has the conversation from before the reload.
    expect(await tokens(3)).toBeGreaterThan((await tokens(1)) + 20);
    expect((await texts.allTextContents()).slice(0, 2)).toEqual(before);
    await page.close();
  });
});
