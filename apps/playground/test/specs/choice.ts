import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { checkLooks, fill, modelReady, openProfile, shareProfile } from "../pages.ts";
import type { Setting } from "../setting.ts";
import { tiny, tinyPath } from "../tinyModel.ts";

/** A server of models, with CORS headers or without. */
async function serveModels(hasCors: boolean): Promise<{ readonly url: string; readonly server: Server } & AsyncDisposable> {
  const cors = { "access-control-allow-origin": "*", "access-control-expose-headers": "Content-Range, Content-Length, ETag" };
  const server = createServer(({ url = "/", headers }, response) => {
    const own = { ...(hasCors && cors), etag: '"1"', "accept-ranges": "bytes" };
    if (url === "/text.gguf") return void response.writeHead(200, own).end("This is no model.");
    if (url !== "/tiny.gguf") return void response.writeHead(404, own).end();
    const [, start, end] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? "") ?? [];
    if (start === undefined) return void response.writeHead(200, { ...own, "content-length": tiny.length }).end(tiny);
    const last = end === "" ? tiny.length - 1 : Math.min(Number(end), tiny.length - 1);
    const part = tiny.subarray(Number(start), last + 1);
    const range = { "content-range": `bytes ${start}-${last}/${tiny.length}`, "content-length": part.length };
    return void response.writeHead(206, { ...own, ...range }).end(part);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function showPlan(page: Page, address: string): Promise<void> {
  await fill(page.getByLabel("Address or name"), address);
  await page.getByRole("button", { name: "Show plan" }).click();
}

export function describeModelChoice(setting: () => Setting): void {
  describe("choice of a model", () => {
    test("shows what a model takes before it is downloaded, loads, finds it again, and deletes it", async () => {
      await using models = await serveModels(true);
      await using profile = await openProfile(setting().browser, setting().url);
      const page = await profile.open("about?backend=wasm");
      await modelReady(page);
      await page.getByRole("button", { name: "Change model" }).click();
      await page.getByRole("heading", { name: "Choose a model" }).waitFor();
      await checkLooks(page, "choose");
      await showPlan(page, `${models.url}/tiny.gguf`);
      const plan = page.getByTestId("plan");
      await plan.waitFor();
      expect(await plan.textContent()).toMatch(/llama.*Q8_0.*2\.5 MB/);
      await page.getByRole("button", { name: "Download 2.5 MB and load" }).click();
      await page.getByText("Fable Tiny 2M").waitFor();
      await modelReady(page);
      expect(page.url()).toContain("model=http");
      await page.getByRole("button", { name: "Change model" }).click();
      await page.getByText("tiny.gguf", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Use the embedded model" }).click();
      await page.getByText("Fable 21M").waitFor();
      await page.getByRole("button", { name: "Change model" }).click();
      await page.getByRole("button", { name: "Delete tiny.gguf" }).click();
      await page.getByText("tiny.gguf", { exact: true }).waitFor({ state: "detached" });
      expect(profile.problems).toEqual([]);
    });

    test("downloads nothing that a link names before the user agrees", async () => {
      await using models = await serveModels(true);
      await using profile = await openProfile(setting().browser, setting().url);
      const page = await profile.open(`about?backend=wasm&model=${encodeURIComponent(`${models.url}/tiny.gguf`)}`);
      await page.getByText("not loaded", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Load", exact: true }).click();
      await page.getByRole("button", { name: "Download 2.5 MB and load" }).click();
      await page.getByText("Fable Tiny 2M").waitFor();
    });

    test("reads a dropped file where it is", async () => {
      await using profile = shareProfile(setting().context, setting().url);
      const page = await profile.open("about?backend=wasm");
      await modelReady(page);
      await page.getByRole("button", { name: "Change model" }).click();
      await page.locator("input[type=file]").setInputFiles(tinyPath);
      await page.getByRole("button", { name: "Load", exact: true }).last().click();
      await page.getByText("Fable Tiny 2M").waitFor();
      await modelReady(page);
      expect(profile.problems).toEqual([]);
    });

    test("says what is wrong with an address, and goes on", async () => {
      await using models = await serveModels(true);
      await using refusing = await serveModels(false);
      await using profile = shareProfile(setting().context, setting().url);
      const page = await profile.open("about?backend=wasm");
      await modelReady(page);
      await page.getByRole("button", { name: "Change model" }).click();
      // As Hugging Face answers for a repository that it does not have.
      await page.route("https://huggingface.co/**", (route) =>
        route.fulfill({ status: 401, headers: { "access-control-allow-origin": "*" } }),
      );
      const cases = [
        [`${models.url}/missing.gguf`, /404/],
        [`${models.url}/text.gguf`, /not a GGUF|GGUF/],
        [`${refusing.url}/tiny.gguf`, /Access-Control-Allow-Origin|CORS/],
        ["hf:", /hf:owner\/repo/],
        ["hf:owner/none:Q4_K_M", /owner\/none.*401.*does not exist/],
      ] as const;
      for (const [address, message] of cases) {
        await showPlan(page, address);
        await page.getByRole("alert").waitFor();
        expect(await page.getByRole("alert").textContent(), address).toMatch(message);
        await page.getByRole("button", { name: "Choose another one" }).click();
      }
      await page.getByRole("button", { name: "Close" }).click();
      await modelReady(page);
    });

    test("refuses a model that does not fit into the browser's storage", async () => {
      await using models = await serveModels(true);
      await using profile = await openProfile(setting().browser, setting().url);
      await profile.context.addInitScript(() => {
        navigator.storage.estimate = async () => ({ quota: 2_000_000, usage: 1_000_000 });
      });
      const page = await profile.open("about?backend=wasm");
      await page.getByRole("button", { name: "Change model" }).click();
      await showPlan(page, `${models.url}/tiny.gguf`);
      expect(await page.getByRole("alert").last().textContent()).toContain("1.0 MB");
      expect(await page.getByRole("button", { name: /^Download/ }).isDisabled()).toBe(true);
    });

    test("works where nothing can be stored", async () => {
      await using profile = await openProfile(setting().browser, setting().url);
      await profile.context.addInitScript(() => {
        Object.defineProperty(navigator.storage, "getDirectory", { value: () => Promise.reject(new DOMException("no", "SecurityError")) });
        Object.defineProperty(globalThis, "localStorage", {
          get: () => {
            throw new DOMException("no", "SecurityError");
          },
        });
        indexedDB.open = () => {
          throw new DOMException("no", "SecurityError");
        };
      });
      const page = await profile.open("chat?backend=wasm&maxTokens=8");
      await page.getByRole("button", { name: /little fox/ }).click();
      await page.getByTestId("figures").waitFor();
    });

    test("searches a hub", async () => {
      await using profile = shareProfile(setting().context, setting().url);
      const page = await profile.open("about?backend=wasm");
      await page.route("https://huggingface.co/**", async (route) => {
        const { pathname } = new URL(route.request().url());
        const headers = { "access-control-allow-origin": "*" };
        if (pathname === "/api/models") {
          const listed = {
            _id: "1",
            id: "owner/small-GGUF",
            modelId: "owner/small-GGUF",
            private: false,
            gated: false,
            downloads: 1234,
            likes: 5,
            tags: ["gguf", "license:mit"],
            lastModified: "2026-01-01T00:00:00.000Z",
          };
          await route.fulfill({ json: [listed], headers });
        } else if (pathname.startsWith("/api/models/owner/small-GGUF/tree/")) {
          await route.fulfill({ json: [{ type: "file", path: "small-Q4_K_M.gguf", size: 1_500_000_000, oid: "0" }], headers });
        } else await route.fulfill({ status: 404, headers });
      });
      await page.getByRole("button", { name: "Change model" }).click();
      await fill(page.getByLabel("Search Hugging Face"), "small");
      await page.getByRole("button", { name: "Search", exact: true }).click();
      await page.getByText("owner/small-GGUF").waitFor();
      await page.getByText("licence mit").waitFor();
      await page.getByRole("button", { name: "Q4_K_M 1.5 GB" }).waitFor();
    });
  });
}
