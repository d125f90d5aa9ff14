import { type Browser, type BrowserContext, chromium, type LaunchOptions } from "playwright-core";
import { patient } from "./patience.ts";
import { openPage } from "./servedPage.ts";
import { startTwice } from "./startTwice.ts";
import { slowZeroing, unpackChromium } from "./swiftshader.ts";

/** Launches a headless Chromium with WebGPU on SwiftShader and further arguments, or returns the reason why it does not run here. */
export function launchChromium(args: readonly string[] = []): Promise<Browser | string> {
  return launched(async (options) => patient(await chromium.launch({ ...options, args: [...(options.args ?? []), ...args] })));
}

/** Launches the headless Chromium at `path` with WebGPU on the machine's GPU, or returns the reason why it does not run. */
export function launchOnGpu(path: string): Promise<Browser | string> {
  return startTwice(path, () =>
    chromium.launch({
      executablePath: path,
      args: ["--no-sandbox", "--enable-unsafe-webgpu", "--ignore-gpu-blocklist", "--use-angle=vulkan", "--enable-features=Vulkan"],
    }),
  );
}

/** As {@link launchChromium}, with a profile in a folder: what pages store is on disk, as for users, and not in memory. */
export function launchChromiumProfile(folder: string): Promise<BrowserContext | string> {
  return launched((options) => chromium.launchPersistentContext(folder, options));
}

async function launched<T>(launch: (options: LaunchOptions) => Promise<T>): Promise<T | string> {
  const unpacked = unpackChromium();
  if ("reason" in unpacked) return unpacked.reason;
  return startTwice("Chromium", () =>
    launch({
      executablePath: unpacked.path,
      env: { ...process.env, ...unpacked.env },
      args: [
        "--no-sandbox",
        "--enable-unsafe-webgpu",
        "--use-webgpu-adapter=swiftshader",
        "--enable-features=Vulkan",
        `--disable-dawn-features=${slowZeroing}`,
      ],
      // Its handlers would close the browser but keep this process running; Chromium ends by itself when its pipe closes.
      handleSIGTERM: false,
      handleSIGHUP: false,
    }),
  );
}

/**
 * Evaluates an expression in a cross-origin isolated page; the packages can be imported by their names there. Gives the reason in
 * words where there is no browser to run.
 */
export async function evaluateInChromium<T>(expression: string): Promise<T | string> {
  const browser = await launchChromium();
  if (typeof browser === "string") return browser;
  try {
    await using served = await openPage(browser);
    return (await served.page.evaluate(expression)) as T;
  } finally {
    await browser.close();
  }
}
