import { join } from "node:path";
import { loadPeer, peerPackage } from "./load.ts";

/** The part of a Playwright page that is used here. */
export interface Page {
  goto(url: string): Promise<unknown>;
  /** Evaluates an expression in the page; waits for a promise. */
  evaluate(expression: string): Promise<unknown>;
  close(): Promise<void>;
}

interface Browser {
  newPage(): Promise<Page>;
  version(): string;
  close(): Promise<void>;
}

/** A headless Chromium from the npm package `@sparticuz/chromium`, with the system libraries that a bare machine lacks. */
export async function launchChromium(): Promise<Browser> {
  const { default: packaged, inflate } = (await loadPeer("@sparticuz/chromium")) as {
    readonly default: { executablePath(): Promise<string> };
    inflate(file: string): Promise<string>;
  };
  const { chromium } = (await loadPeer("playwright-core")) as { readonly chromium: { launch(options: object): Promise<Browser> } };
  const libraries = join(await inflate(join(peerPackage("@sparticuz/chromium"), "bin", "al2023.tar.br")), "lib");
  const executablePath = await packaged.executablePath();
  const path = [libraries, process.env.LD_LIBRARY_PATH].filter(Boolean).join(":");
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--headless=shell"], env: { ...process.env, LD_LIBRARY_PATH: path } });
}
