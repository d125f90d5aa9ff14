import { readFileSync } from "node:fs";
import type { ModelCompetitor, ModelRunner } from "../models/competitor.ts";
import type { Browser } from "../pages/site.ts";
import { Skip } from "../runner/subject.ts";
import { peerVersion } from "./load.ts";
import type { PeerAdapter } from "./peer.ts";

/** llama.cpp in WASM, in a headless Chromium, on the CPU. What drives the browser is loaded with it: most runs need none. */
export const wllama: PeerAdapter = {
  name: "wllama",
  kind: "cpu",
  async open({ threads }) {
    const version = peerVersion("@wllama/wllama");
    const { launchChromium } = await import("@centella/test-devices");
    const browser = await launchChromium();
    if (typeof browser === "string") throw new Skip(browser);
    return {
      version: `${version} in Chromium ${browser.version()}`,
      model: competitorOf(browser, threads),
      dispose: () => browser.close(),
    };
  },
};

function competitorOf(browser: Browser, threads: number): ModelCompetitor {
  return {
    name: "wllama",
    side: "peer",
    threads,
    isElsewhere: true,
    async open(file, contextLength): Promise<ModelRunner> {
      const { serveSite } = await import("../pages/site.ts");
      const site = await serveSite(browser, "wllama", readFileSync(file), true);
      const page = await site.visit(contextLength, threads);
      return {
        prefill: (ids) => page.prefill(ids),
        decode: (prompt, tokens) => page.decode(prompt, tokens),
        async dispose() {
          await page[Symbol.asyncDispose]();
          await site[Symbol.asyncDispose]();
        },
      };
    },
  };
}
