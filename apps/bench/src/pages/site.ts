import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type launchChromium, serveBundle } from "@centella/test-devices";
import { peerPackage } from "../peers/load.ts";
import { Skip } from "../runner/subject.ts";
import type { BenchPage } from "./benchPage.ts";

/** A browser that was launched. */
export type Browser = Exclude<Awaited<ReturnType<typeof launchChromium>>, string>;

/** Projects that run models in pages. */
export type PageProject = "centella" | "wllama";

/** A page with its model loaded. */
export interface LoadedPage extends BenchPage, AsyncDisposable {
  /** Result of the page's `load`. */
  readonly loadSeconds: number;
}

/** A server with the page of one project and one model. */
export interface Site extends AsyncDisposable {
  /**
   * Opens the page in a context of its own, whose caches and storage are empty, and loads the model.
   * @throws {Skip} if the page does not answer
   */
  visit(contextLength: number, threads: number): Promise<LoadedPage>;
}

/** A call that takes longer hangs. */
const limitSeconds = 60;
/** Visits that hang are repeated: under WebDriver, Firefox at times does not start a worker that another worker creates. */
const attempts = 3;

/**
 * Serves a project's page.
 * @throws {Skip} if the project is not installed
 */
export async function serveSite(browser: Browser, project: PageProject, model: Uint8Array, isIsolated: boolean): Promise<Site> {
  const server = await serveBundle({ ...bundleOf(project, model), isMinified: true, isIsolated });
  return {
    async visit(contextLength, threads) {
      for (let attempt = 1; ; attempt++) {
        const page = await openPage(browser, server.url);
        try {
          return { ...page, loadSeconds: await page.load(contextLength, threads) };
        } catch (error) {
          await page[Symbol.asyncDispose]();
          if (!(error instanceof Skip) || attempt === attempts) throw error;
        }
      }
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function openPage(browser: Browser, url: string): Promise<BenchPage & AsyncDisposable> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForFunction("globalThis.bench");
  const call = (name: keyof BenchPage, ...values: readonly unknown[]): Promise<number> =>
    answered(name, page.evaluate<number>(`bench.${name}(${values.map((value) => JSON.stringify(value)).join()})`));
  return {
    load: (contextLength, threads) => call("load", contextLength, threads),
    firstToken: (prompt) => call("firstToken", prompt),
    prefill: (ids) => call("prefill", ids),
    decode: (prompt, tokens) => call("decode", prompt, tokens),
    [Symbol.asyncDispose]: () => context.close(),
  };
}

function bundleOf(project: PageProject, model: Uint8Array): Parameters<typeof serveBundle>[0] {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const script = (name: string): string => fileURLToPath(new URL(`inPage/${name}.${extension}`, import.meta.url));
  const files = { "/model.gguf": model };
  if (project === "centella") return { scripts: { main: script("centella"), engine: script("engine") }, files };
  const folder = join(peerPackage("@wllama/wllama"), "esm");
  return {
    scripts: { main: script("wllama"), library: join(folder, "index.js") },
    files: { ...files, "/wllama.wasm": readFileSync(join(folder, "wasm/wllama.wasm")) },
  };
}

/** @throws {Skip} if the page does not answer */
async function answered(call: string, answer: Promise<number>): Promise<number> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Skip(`${call}: no answer within ${limitSeconds} s`)), limitSeconds * 1e3);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
