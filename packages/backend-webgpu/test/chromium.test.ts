import type { ConformanceResult } from "@centella/conformance";
import { evaluateInChromium } from "@centella/test-devices";
import { describe, expect, test } from "vitest";

const isRequired = process.env.REQUIRE_BACKENDS?.split(",").includes("webgpu") ?? false;

/** What the page reports. */
interface Report {
  readonly device: { readonly kind: string; readonly name: string };
  readonly isIsolated: boolean;
  readonly results: readonly ConformanceResult[];
}

/** Runs in the page: a sample, since the kernels are those that Node has run the whole grid of, on the same SwiftShader. */
const conformance = `(async () => {
  const { webgpu } = await import("@centella/backend-webgpu");
  const { conformanceSample, runConformance } = await import("@centella/conformance/headless");
  const sample = conformanceSample();
  const backend = await webgpu().open();
  const results = [];
  for await (const result of runConformance(backend, { filter: (id) => sample.has(id) })) results.push(result);
  await backend.dispose();
  return { device: backend.device, isIsolated: crossOriginIsolated, results };
})()`;

describe("webgpu in Chromium", async () => {
  const report = await evaluateInChromium<Report>(conformance);
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
