import type { ConformanceResult } from "@centella/conformance";
import { evaluateInChromium, isRequired } from "@centella/test-devices";
import { describe, expect, test } from "vitest";

/** The page's report. */
interface Report {
  readonly device: string;
  readonly features: { readonly simd: boolean; readonly relaxed: boolean; readonly sharedMemory: boolean; readonly memory64: boolean };
  readonly results: readonly ConformanceResult[];
  /** Results of the page's main thread, from sync and awaited calls with active threads. */
  readonly main: { readonly isWindow: boolean; readonly isSame: boolean; readonly turns: number };
}

/** Runs a sample in the page, since Node has run the full grid on the same engine. Workers and memory differ here. */
const conformance = `(async () => {
  const { detect, wasm } = await import("@centella/backend-wasm");
  const { conformanceSample, runConformance } = await import("@centella/conformance/headless");
  const sample = conformanceSample();
  const backend = await wasm({ threads: 2 }).open();
  const results = [];
  for await (const result of runConformance(backend, { filter: (id) => sample.has(id) })) results.push(result);
  const { createProgram } = await import("@centella/core");
  const program = createProgram();
  let x = program.input("x", "f32", [256, 512]);
  const w = program.persistent("w", { dtype: "f32", shape: [512, 512] });
  for (let layer = 0; layer < 40; layer++) x = program.matmul(x, w);
  program.output("y", x);
  const plan = await backend.compile(program);
  const weights = new Uint8Array(new Float32Array(512 * 512).map((_, i) => ((i * 37) % 101 - 50) / 2000).buffer);
  await plan.load("w", { size: weights.length, read: async (offset, length) => weights.slice(offset, offset + length) });
  const data = new Float32Array(256 * 512).fill(1);
  const wanted = plan.runSync({ x: data }).y;
  let [isSame, turns] = [true, 0];
  const timer = setInterval(() => turns++, 1);
  for (let i = 0; i < 4; i++) {
    const awaited = await plan.run({ x: data }).y.data();
    const within = plan.runSync({ x: data }).y;
    isSame &&= wanted.every((value, at) => Object.is(value, awaited[at]) && Object.is(value, within[at]));
  }
  clearInterval(timer);
  const { device } = backend;
  await backend.dispose();
  return { device: device.name, features: detect(), results, main: { isWindow: typeof document !== "undefined", isSame, turns } };
})()`;

describe("wasm in Chromium", async () => {
  const report = await evaluateInChromium<Report>(conformance);
  if (typeof report === "string") {
    if (isRequired("wasm")) test("wasm in Chromium is available", () => expect.fail(report));
    else test.skip(`wasm in Chromium is not available: ${report}`, () => undefined);
    return;
  }
  test("has SIMD, relaxed SIMD and threads over shared memory", () => {
    expect(report.features).toEqual({ simd: true, relaxed: true, sharedMemory: true, memory64: true });
    expect(report.device).toMatch(/relaxed SIMD, 2 threads/);
    expect(report.results.filter(({ status }) => status === "passed").length).toBeGreaterThan(200);
  });
  test("the page's main thread computes with the workers within a call, where it may not sleep, and stays free during awaited runs", () => {
    expect(report.main).toMatchObject({ isWindow: true, isSame: true });
    expect(report.main.turns).toBeGreaterThan(4);
  });
  for (const { id, status, message } of report.results) {
    if (status === "skipped") test.skip(`${id} (${message})`, () => undefined);
    else test(id, () => expect(status, message).toBe("passed"));
  }
});
