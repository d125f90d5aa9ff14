import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { lastOf } from "@centella/quant/checks";

import type { ModelCompetitor, ModelRunner } from "../models/competitor.ts";
import { Skip } from "../runner/subject.ts";
import { peerPackage, peerVersion } from "./load.ts";
import type { PeerAdapter } from "./peer.ts";

/** The part of a Playwright page that is used here. */
interface Page {
  goto(url: string): Promise<unknown>;
  /** Evaluates an expression in the page; waits for a promise. */
  evaluate(expression: string): Promise<unknown>;
  close(): Promise<void>;
}

/** Answer of the page; times are llama.cpp's own, in ms. */
interface Timings {
  readonly prompt_n: number;
  readonly prompt_ms: number;
  readonly predicted_n: number;
  readonly predicted_ms: number;
}

/** llama.cpp in WASM, in a headless Chromium, on the CPU. */
export const wllama: PeerAdapter = {
  name: "wllama",
  kind: "cpu",
  async open({ threads }) {
    const folder = peerPackage("@wllama/wllama");
    const { launchChromium } = await import("@centella/test-devices");
    const files = new Map<string, string>();
    const server = await serve(folder, files);
    const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
    const browser = await launchChromium();
    if (typeof browser === "string") {
      server.close();
      throw new Skip(browser);
    }
    return {
      version: `${peerVersion("@wllama/wllama")} in Chromium ${browser.version()}`,
      model: competitorOf(threads, async (file) => {
        files.set("/model.gguf", file);
        const page = await browser.newPage();
        await page.goto(`${origin}/`);
        return page;
      }),
      async dispose() {
        await browser.close();
        server.close();
      },
    };
  },
};

function competitorOf(threads: number, openPage: (file: string) => Promise<Page>): ModelCompetitor {
  return {
    name: "wllama",
    side: "peer",
    threads,
    isElsewhere: true,
    async open(file, contextLength): Promise<ModelRunner> {
      const page = await openPage(file);
      await page.evaluate(`load(${contextLength}, ${threads})`);
      const complete = async (ids: readonly number[], tokens: number): Promise<Timings> =>
        (await page.evaluate(`complete(${JSON.stringify(textOf(ids))}, ${tokens})`)) as Timings;
      let runs = 0;
      return {
        async prefill(ids) {
          // A new first word keeps it from using its cached prompt.
          const { prompt_n, prompt_ms } = await complete([1000 + runs++, ...ids.slice(1)], 1);
          return (prompt_ms / prompt_n / 1e3) * ids.length;
        },
        async decode(prompt, tokens) {
          const { predicted_n, predicted_ms } = await complete(prompt, tokens);
          return (predicted_ms / predicted_n / 1e3) * tokens;
        },
        dispose: () => page.close(),
      };
    },
  };
}

/** Prompt as text, since wllama takes no ids: a word of three letters (about two tokens) per second id. Rates use its token count. */
function textOf(ids: readonly number[]): string {
  const word = (id: number): string => String.fromCharCode(...[id, id / 26, id / 676].map((digit) => 97 + (Math.floor(digit) % 26)));
  return ids
    .filter((_, i) => i % 2 === 0)
    .map(word)
    .join(" ");
}

const html = `<!doctype html><script type="module">
import { Wllama } from "/esm/index.js";
let wllama;
globalThis.load = async (n_ctx, n_threads) => {
  wllama = new Wllama({ default: "/esm/wasm/wllama.wasm" }, { suppressNativeLog: true });
  const model = await (await fetch("/model.gguf")).blob();
  await wllama.loadModel([model], { n_ctx, n_threads, n_batch: 512, n_gpu_layers: 0, warmup: false });
};
globalThis.complete = async (prompt, max_tokens) =>
  (await wllama.createCompletion({ prompt, max_tokens, temperature: 0, temp: 0, ignore_eos: true })).timings;
globalThis.isReady = true;
</script>`;

/** Serves the package and the registered files, cross-origin isolated: threads need that. */
async function serve(folder: string, files: ReadonlyMap<string, string>): Promise<Server> {
  const types: Readonly<Record<string, string>> = { js: "text/javascript", wasm: "application/wasm" };
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    response.setHeader("Cross-Origin-Opener-Policy", "same-origin");
    response.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
    response.setHeader("Content-Type", path === "/" ? "text/html" : (types[lastOf(path.split("."))] ?? "application/octet-stream"));
    if (path === "/") {
      response.end(html);
      return;
    }
    readFile(files.get(path) ?? join(folder, path)).then(
      (bytes) => response.end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
