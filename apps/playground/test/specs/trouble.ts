import { statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { fable } from "@centella/model-fable";
import { describe, expect, test } from "vitest";
import { fill, modelReady, openProfile, shareProfile } from "../pages.ts";
import type { Setting } from "../setting.ts";
import { serveSite } from "../site.ts";
import { tiny } from "../tinyModel.ts";
import { snapshotCount } from "./chat.ts";

/** Bytes after which the slow server waits. */
const half = 1_300_000;

/** Size of the embedded model. */
const modelBytes = statSync(fileURLToPath(fable)).size;

/** A server of the tiny model. */
interface SlowServer extends AsyncDisposable {
  readonly url: string;
  /** From now on downloads are counted, and the first one stops at half of the file. */
  watch(): void;
  /** Bytes at which downloads began. */
  readonly starts: readonly number[];
}

async function serveSlowly(): Promise<SlowServer> {
  const starts: number[] = [];
  let isWatched = false;
  const cors = { "access-control-allow-origin": "*", "access-control-expose-headers": "Content-Range, Content-Length, ETag" };
  const server = createServer(({ headers }, response) => {
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? "") ?? [];
    const [start, end] = [
      Number(first ?? 0),
      last === undefined || last === "" ? tiny.length - 1 : Math.min(Number(last), tiny.length - 1),
    ];
    const part = tiny.subarray(start, end + 1);
    const range = first === undefined ? {} : { "content-range": `bytes ${start}-${end}/${tiny.length}` };
    response.writeHead(first === undefined ? 200 : 206, { ...cors, ...range, etag: '"1"', "content-length": part.length });
    // Other requests read the header, or check the file.
    const isDownload = isWatched && part.length >= tiny.length - half;
    if (isDownload) starts.push(start);
    if (isDownload && starts.length === 1) response.write(part.subarray(0, half));
    else response.end(part);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tiny.gguf`,
    starts,
    watch() {
      isWatched = true;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Bytes that the page has stored of a download that is not complete. Runs in the page. */
async function partialBytes(): Promise<number> {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle("centella-models", { create: true });
  for await (const [name, handle] of folder.entries())
    if (name.endsWith(".partial")) return (await (handle as FileSystemFileHandle).getFile()).size;
  return 0;
}

export function describeTrouble(setting: () => Setting): void {
  describe("trouble", () => {
    test("a download that was paused, or whose page was closed, goes on where it stopped", async () => {
      await using model = await serveSlowly();
      await using profile = await openProfile(setting().browser, setting().url);
      const route = `about?backend=wasm&model=${encodeURIComponent(model.url)}`;
      const page = await profile.open(route);
      await page.getByRole("button", { name: "Load", exact: true }).click();
      await page.getByRole("button", { name: "Download 2.5 MB and load" }).waitFor();
      model.watch();
      await page.getByRole("button", { name: "Download 2.5 MB and load" }).click();
      await page.getByText("1.3 MB of 2.5 MB", { exact: true }).waitFor();
      // The engine writes what has arrived a moment later.
      await expect.poll(() => page.evaluate(partialBytes)).toBe(half);
      await page.getByRole("button", { name: "Pause" }).click();
      await page.getByText("not loaded", { exact: true }).waitFor();
      await page.close();
      const next = await profile.open(route);
      await next.getByRole("button", { name: "Load", exact: true }).click();
      await next.getByRole("button", { name: "Download 2.5 MB and load" }).click();
      await next.getByText("Fable Tiny 2M").waitFor();
      await modelReady(next);
      expect(model.starts, "bytes at which downloads began").toEqual([0, half]);
    });

    test("an engine that ends is started again, and the conversation is still there", async () => {
      await using profile = await openProfile(setting().browser, setting().url);
      await profile.context.addInitScript(() => {
        const engines: Worker[] = [];
        Object.assign(globalThis, { engines });
        globalThis.Worker = class extends Worker {
          constructor(url: URL | string, options?: WorkerOptions) {
            super(url, options);
            engines.push(this);
          }
        };
      });
      const page = await profile.open("chat?backend=wasm&maxTokens=8");
      await page.getByRole("button", { name: /little fox/ }).click();
      const answers = page.getByTestId("figures");
      await answers.waitFor();
      // Otherwise, saving the snapshot may fail first, and the message would start another engine.
      await expect.poll(() => page.evaluate(snapshotCount)).toBe(1);
      // As a browser does with a worker that has run out of memory.
      await page.evaluate(() => (globalThis as unknown as { engines: Worker[] }).engines[0]?.terminate());
      await fill(page.getByLabel("Write a message"), "Go on.");
      await page.getByRole("button", { name: "Send", exact: true }).click();
      await page.getByRole("button", { name: "Load again" }).click();
      await modelReady(page);
      expect(await page.locator("[data-role=assistant] .prose-answer").count()).toBeGreaterThan(0);
      await fill(page.getByLabel("Write a message"), "Go on, please.");
      await page.getByRole("button", { name: "Send", exact: true }).click();
      await expect.poll(() => answers.count()).toBe(2);
    });

    test("an engine whose script cannot be loaded is an error with a way back", async () => {
      await using profile = await openProfile(setting().browser, setting().url);
      const page = await profile.open("about");
      await modelReady(page);
      await page.route(/\/engine-[^/]*\.js$/, (route) => route.abort());
      await page.goto(`${setting().url}?again#/about?backend=wasm`);
      await page.getByRole("alert").waitFor();
      await page.unroute(/\/engine-[^/]*\.js$/);
      await page.getByRole("button", { name: "Load again" }).click();
      await modelReady(page);
    });

    test("an option outside of its range is named, and the conversation goes on without it", async () => {
      await using profile = shareProfile(setting().context, setting().url);
      const page = await profile.open("chat?backend=wasm&maxTokens=8&temperature=-1");
      await modelReady(page);
      await page.getByRole("button", { name: /little fox/ }).click();
      expect(await page.getByRole("alert").textContent()).toContain("temperature");
      await fill(page.getByLabel("Temperature", { exact: true }), "0.5");
      await fill(page.getByLabel("Write a message"), "Tell me a story.");
      await page.getByRole("button", { name: "Send", exact: true }).click();
      await page.getByTestId("figures").waitFor();
    });

    test("two tabs that open at once download the model once; waiting can be paused", async () => {
      const host = await serveSite(setting().folder);
      try {
        const release = host.holdModels();
        await using profile = await openProfile(setting().browser, host.url);
        const first = await profile.open("about?backend=wasm");
        await first.getByText("6.5 MB of 13.0 MB").waitFor();
        const second = await profile.open("about?backend=wasm");
        await second.getByText("6.5 MB of 13.0 MB").waitFor();
        await second.getByRole("button", { name: "Pause" }).click();
        await second.getByText("not loaded", { exact: true }).waitFor();
        await second.getByRole("button", { name: "Resume" }).click();
        await second.getByText("6.5 MB of 13.0 MB").waitFor();
        release();
        await modelReady(first);
        await modelReady(second);
        expect(host.modelBytes() / modelBytes).toBeLessThan(1.001);
        expect(profile.problems).toEqual([]);
      } finally {
        await host.close();
      }
    });

    test("works by the keyboard alone", async () => {
      await using profile = shareProfile(setting().context, setting().url);
      const page = await profile.open("chat?backend=wasm&maxTokens=8");
      await modelReady(page);
      await page.getByRole("heading", { name: "Ask for a story" }).waitFor();
      await page.keyboard.press("Tab");
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the content");
      await page.keyboard.press("Enter");
      for (let i = 0; i < 3; i++) await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      await page.keyboard.type("Tell me a story.");
      await page.keyboard.press("Enter");
      await page.getByTestId("figures").waitFor();
      await page.getByRole("button", { name: "Change model" }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Choose a model" }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("heading", { name: "Choose a model" }).waitFor({ state: "detached" });
      expect(profile.problems).toEqual([]);
    });
  });
}
