import type { ConformanceResult } from "@centella/core/testing";
import { evaluateInChromium } from "@centella/test-devices";
import { describe, expect, test } from "vitest";

const isRequired = process.env.REQUIRE_BACKENDS?.split(",").includes("wasm") ?? false;

/** What the page reports. */
interface Report {
  readonly device: string;
  readonly features: { readonly simd: boolean; readonly relaxed: boolean; readonly sharedMemory: boolean; readonly memory64: boolean };
  readonly results: readonly ConformanceResult[];
}

/** Runs in the page: a sample, since Node has run the whole grid on the same engine. What differs here are workers and memory. */
const conformance = `(async () => {
  const { detect, wasm } = await import("@centella/backend-wasm");
  const { conformanceSample, runConformance } = await import("@centella/core/conformance");
  const sample = conformanceSample();
  const backend = await wasm({ threads: 2 }).open();
  const results = [];
  for await (const result of runConformance(backend, { filter: (id) => sample.has(id) })) results.push(result);
  const { device } = backend;
  await backend.dispose();
  return { device: device.name, features: detect(), results };
})()`;

describe("wasm in Chromium", async () => {
  const report = await evaluateInChromium<Report>(conformance);
  if (typeof report === "string") {
    if (isRequired) test("wasm in Chromium is available", () => expect.fail(report));
    else test.skip(`wasm in Chromium is not available: ${report}`, () => undefined);
    return;
  }
  test("has SIMD, relaxed SIMD and threads over shared memory", () => {
    expect(report.features).toEqual({ simd: true, relaxed: true, sharedMemory: true, memory64: true });
    expect(report.device).toMatch(/relaxed SIMD, 2 threads/);
    expect(report.results.filter(({ status }) => status === "passed").length).toBeGreaterThan(200);
  });
  for (const { id, status, message } of report.results) {
    if (status === "skipped") test.skip(`${id} (${message})`, () => undefined);
    else test(id, () => expect(status, message).toBe("passed"));
  }
});
