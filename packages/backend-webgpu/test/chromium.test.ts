import type { ConformanceResult } from "@centella/core/testing";
import { type Browser, chromium } from "playwright-core";
import { describe, expect, test } from "vitest";
import { serveSources } from "./sourceServer.ts";
import { unpackChromium } from "./swiftshader.ts";

const isRequired = process.env.REQUIRE_BACKENDS?.split(",").includes("webgpu") ?? false;

/** What the page reports. */
interface Report {
  readonly device: { readonly kind: string; readonly name: string };
  readonly isIsolated: boolean;
  readonly results: readonly ConformanceResult[];
}

/** Runs in the page. */
const conformance = `(async () => {
  const { webgpu } = await import("@centella/backend-webgpu");
  const { runConformance } = await import("@centella/core/conformance");
  const backend = await webgpu().open();
  const results = [];
  for await (const result of runConformance(backend)) results.push(result);
  await backend.dispose();
  return { device: backend.device, isIsolated: crossOriginIsolated, results };
})()`;

describe("webgpu in Chromium", async () => {
  const report = await runInChromium();
  if (typeof report === "string") {
    if (isRequired) test("webgpu in Chromium is available", () => expect.fail(report));
    else test.skip(`webgpu in Chromium is not available: ${report}`, () => undefined);
    return;
  }
  test("the page is isolated and has a WebGPU device", () => {
    expect(report.isIsolated).toBe(true);
    expect(report.device.kind).toBe("software-gpu");
    expect(report.results.length).toBeGreaterThan(0);
  });
  for (const { id, status, message } of report.results) {
    if (status === "skipped") test.skip(`${id} (${message})`, () => undefined);
    else test(id, () => expect(status, message).toBe("passed"));
  }
});

/** The reason in words where there is no browser to run. */
async function runInChromium(): Promise<Report | string> {
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
    return (await page.evaluate(conformance)) as Report;
  } finally {
    await browser.close();
    server.close();
  }
}
