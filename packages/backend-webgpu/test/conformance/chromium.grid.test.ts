import type { ConformanceResult } from "@centella/conformance";
import { evaluateInChromium, isRequired, isWholeGrid } from "@centella/test-devices";
import { describe, expect, test } from "vitest";

/** What the page reports. */
interface Report {
  readonly device: { readonly kind: string; readonly name: string };
  readonly isIsolated: boolean;
  readonly results: readonly ConformanceResult[];
  /** The same result before and after the device was destroyed, and the error in between. */
  readonly recovered: { readonly before: readonly number[]; readonly error: string; readonly after: readonly number[] };
}

/** Tests of kernels that SwiftShader compiles for seconds each. Node runs them on the same SwiftShader. */
const slow = String.raw`/: (?!q8_0)\w+ (weight|experts)|product|, seed |groups around|whole vocabulary|quantised rows|embedding, q[46]|explain lists what/`;

/** Runs in the page: all tests in the whole grid, else a sample, because Node runs the same kernels on the same SwiftShader. */
const conformance = `(async () => {
  const { webgpu } = await import("@centella/backend-webgpu");
  const { conformanceSample, runConformance } = await import("@centella/conformance/headless");
  const sample = conformanceSample();
  const backend = await webgpu().open();
  const results = [];
  for await (const result of runConformance(backend, { filter: (id) => ${isWholeGrid} || (sample.has(id) && !${slow}.test(id)) })) results.push(result);
  await backend.dispose();
  return { device: backend.device, isIsolated: crossOriginIsolated, results, recovered: await recovered() };

  async function recovered() {
    const { createProgram } = await import("@centella/core");
    let device;
    const requestAdapter = async (options) => {
      const adapter = await navigator.gpu.requestAdapter(options);
      const { info, limits, features } = adapter;
      return { info, limits, features, requestDevice: async (descriptor) => (device = await adapter.requestDevice(descriptor)) };
    };
    const { wgslLanguageFeatures } = navigator.gpu;
    const backend = await webgpu({ gpu: { requestAdapter, wgslLanguageFeatures } }).open();
    const program = createProgram();
    const w = program.persistent("w", { dtype: "f32", shape: [2] });
    program.output("y", program.add(program.input("x", "f32", [2]), w));
    const plan = await backend.compile(program);
    await plan.load("w", { size: 8, read: async () => new Uint8Array(Float32Array.of(10, 20).buffer) });
    const run = async () => [...(await plan.run({ x: Float32Array.of(1, 2) }).y.data())];
    const before = await run();
    const pending = run();
    device.destroy();
    const error = await pending.then(() => "none", ({ name }) => name);
    await backend.recover();
    const after = await run();
    await backend.dispose();
    return { before, error, after };
  }
})()`;

describe("webgpu in Chromium", async () => {
  const report = await evaluateInChromium<Report>(conformance);
  if (typeof report === "string") {
    if (isRequired("webgpu")) test("webgpu in Chromium is available", () => expect.fail(report));
    else test.skip(`webgpu in Chromium is not available: ${report}`, () => undefined);
    return;
  }
  test("the page is isolated and has a WebGPU device", () => {
    expect(report.isIsolated).toBe(true);
    expect(report.device.kind).toBe("software-gpu");
    expect(report.results.length).toBeGreaterThan(0);
  });
  test("a destroyed device is recovered", () => {
    expect(report.recovered).toEqual({ before: [11, 22], error: "DeviceLostError", after: [11, 22] });
  });
  for (const { id, status, message } of report.results) {
    if (status === "skipped") test.skip(`${id} (${message})`, () => undefined);
    else test(id, () => expect(status, message).toBe("passed"));
  }
});
