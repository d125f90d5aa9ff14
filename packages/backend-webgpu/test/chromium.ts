import { type Browser, chromium } from "playwright-core";
import { serveSources } from "./sourceServer.ts";
import { unpackChromium } from "./swiftshader.ts";

/**
 * Evaluates an expression in a cross-origin isolated page of a headless Chromium with WebGPU on SwiftShader; the packages can be
 * imported by their names there. Gives the reason in words where there is no browser to run.
 */
export async function evaluateInChromium<T>(expression: string): Promise<T | string> {
  const unpacked = unpackChromium();
  if ("reason" in unpacked) return unpacked.reason;
  const args = ["--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"];
  let browser: Browser;
  try {
    browser = await chromium.launch({ executablePath: unpacked.path, env: { ...process.env, ...unpacked.env }, args });
  } catch (error) {
    return `Chromium does not start: ${String(error)}`;
  }
  const server = await serveSources();
  try {
    const page = await browser.newPage();
    await page.goto(server.url);
    return (await page.evaluate(expression)) as T;
  } finally {
    await browser.close();
    server.close();
  }
}
