import { describe, expect, test } from "vitest";
import type { Backend } from "../src/backend/backend.ts";
import { ArgumentError, type Calibration, createRuntime, reference } from "../src/index.ts";
import { type CalibrationPoint, calibrate, crossoverOf } from "../src/runtime/calibrate.ts";
import { checkThresholds } from "../src/runtime/checkThresholds.ts";
import { programCost } from "../src/runtime/select.ts";
import { type Fake, fakeBackend, fakeFactory } from "./support/fakeBackend.ts";

/** Backends with a simulated clock: a run takes `latencyMs + flops / flopsPerMs + bytes / bytesPerMs`. */
interface Speed {
  readonly latencyMs: number;
  readonly flopsPerMs: number;
  readonly bytesPerMs: number;
}
let clock = 0;
const now = (): number => clock;

function machine(name: string, { latencyMs, flopsPerMs, bytesPerMs }: Speed, fake: Partial<Fake> = {}): Promise<Backend> {
  return fakeBackend({
    name,
    ...fake,
    onRun(program) {
      const { flops, bytes } = programCost(program);
      clock += latencyMs + flops / flopsPerMs + bytes / bytesPerMs;
    },
  });
}

const slow: Speed = { latencyMs: 0.01, flopsPerMs: 1e5, bytesPerMs: 1e5 };
const fast: Speed = { latencyMs: 1, flopsPerMs: 1e7, bytesPerMs: 2e5 };
const minOf = ({ comparisons }: Calibration, wanted: string): number | "never" | undefined =>
  comparisons.find((comparison) => comparison.class === wanted)?.min;

describe("calibrate", () => {
  test("finds where the latency is repaid", async () => {
    const calibration = await calibrate([await machine("fast", fast), await machine("slow", slow)], { budgetMs: 2000, now });
    // Memory: 1 + b / 2e5 + f / 1e7 = 0.01 + b / 1e5 + f / 1e5 with f = b / 12.
    const memory = 0.99 / (1 / 2e5 + (1 / 12) * (1 / 1e5 - 1 / 1e7));
    expect(Number(minOf(calibration, "memory")) / memory).toBeGreaterThan(0.6);
    expect(Number(minOf(calibration, "memory")) / memory).toBeLessThan(1.6);
    for (const key of ["compute", "program"] as const) {
      const min = Number(minOf(calibration, key));
      expect(min).toBeGreaterThan(3e4);
      expect(min).toBeLessThan(3e5);
      expect(calibration.thresholds.fast![key]).toEqual({ min, unit: "flops" });
    }
    expect(calibration.comparisons.every(({ backend, against }) => backend === "fast" && against === "slow")).toBe(true);
    expect(checkThresholds(JSON.parse(JSON.stringify(calibration)).thresholds)).toEqual(calibration.thresholds);
    expect(calibration.machine).toMatch(/Node v\d+/);
  });

  test("its thresholds decide afterwards", async () => {
    const { thresholds } = await calibrate([await machine("fast", fast), await machine("slow", slow)], { budgetMs: 2000, now });
    await using runtime = await createRuntime({ backends: [fakeFactory({ name: "fast" })], policy: { thresholds } });
    const chosen = (n: number) =>
      runtime.explain("matmul", [
        { dtype: "f32", shape: [n, n] },
        { dtype: "f32", shape: [n, n] },
      ]).backend;
    expect([chosen(8), chosen(512)]).toEqual(["reference", "fast"]);
  });

  test("a backend that never repays its costs never gets work; one that always does needs no minimum", async () => {
    const never = await calibrate([await machine("worse", { ...slow, latencyMs: 1 }), await machine("slow", slow)], { budgetMs: 300, now });
    expect(minOf(never, "memory")).toBe("never");
    expect(never.comparisons[0]!.reason).toMatch(/slower up to .*, the largest size in the budget, and no nearer to a gain/);
    const always = await calibrate([await machine("better", { ...fast, latencyMs: 0.001 }), await machine("slow", slow)], {
      budgetMs: 300,
      now,
    });
    expect(minOf(always, "memory")).toBe(0);
    expect(always.comparisons[0]!.points).toHaveLength(3);
  });

  test("keeps to its budget by predicted times", async () => {
    const start = clock;
    const sluggish = { latencyMs: 1, flopsPerMs: 100, bytesPerMs: 100 };
    const calibration = await calibrate([await machine("a", sluggish), await machine("b", sluggish)], { budgetMs: 100, now });
    expect(clock - start).toBeLessThan(250);
    expect(calibration.comparisons.every(({ points }) => points.length > 0)).toBe(true);
  });

  test("a missing kernel, a software adapter and a last backend have no thresholds", async () => {
    const unsupported: Fake["unsupported"] = ({ name }) => (name === "matmul" ? "no matmul kernel" : undefined);
    const partial = await machine("partial", fast, { unsupported });
    const real = partial.compile;
    partial.compile = async (program, options) => {
      const { UnsupportedError } = await import("../src/index.ts");
      if (program.nodes.some(({ op }) => op.name === "matmul")) throw new UnsupportedError("partial: matmul", "no matmul kernel");
      return real(program, options);
    };
    const software = await machine("soft", fast, { device: { kind: "software-gpu", name: "SwiftShader" } });
    const calibration = await calibrate([software, partial, await machine("slow", slow)], { budgetMs: 200, now });
    expect(Object.keys(calibration.thresholds)).toEqual(["partial"]);
    expect(Object.keys(calibration.thresholds.partial!)).toEqual(["memory"]);
    expect(calibration.comparisons[1]).toMatchObject({ class: "compute", points: [], reason: expect.stringMatching(/no matmul kernel/) });
  });

  test("measures transfers of devices", async () => {
    const gpu = await machine("gpu", fast, { device: { kind: "gpu", name: "Fast 9000" } });
    const upload = gpu.upload.bind(gpu);
    gpu.upload = (spec, data) => {
      clock += 0.5 + data.byteLength / 1e6;
      return upload(spec, data);
    };
    const { thresholds } = await calibrate([gpu, await machine("slow", slow)], { budgetMs: 100, now });
    // The fake charges both directions at the upload.
    expect(thresholds.gpu!.transfer).toEqual({ latencyUs: 250, bytesPerUs: 2000 });
  });

  test("reports progress, can be aborted and refuses a budget of 0", async () => {
    const backends = [await machine("a", fast), await machine("b", slow)];
    const steps: string[] = [];
    await calibrate(backends, { budgetMs: 50, now, onProgress: (done, total, what) => steps.push(`${done}/${total} ${what}`) });
    expect(steps).toEqual(["0/3 memory on a against b", "1/3 compute on a against b", "2/3 program on a against b", "3/3 done"]);
    const controller = new AbortController();
    const aborted = calibrate(backends, { budgetMs: 50, now, signal: controller.signal, onProgress: () => controller.abort() });
    await expect(aborted).rejects.toThrow(/abort/i);
    await expect(calibrate(backends, { budgetMs: 0 })).rejects.toThrow(ArgumentError);
    expect((await calibrate(await Promise.all([reference().open()]), { budgetMs: 5 })).comparisons).toEqual([]);
  });

  test("on real backends and the real clock", async () => {
    await using runtime = await createRuntime({ backends: [fakeFactory({ name: "fake" })] });
    const { comparisons, thresholds } = await runtime.calibrate({ budgetMs: 60 });
    expect(comparisons.map((comparison) => comparison.class)).toEqual(["memory", "compute", "program"]);
    expect(comparisons.every(({ points }) => points.every(({ ms, againstMs }) => ms > 0 && againstMs > 0))).toBe(true);
    expect(Object.keys(thresholds)).toEqual(["fake"]);
    expect(runtime.backends[0]!.memory().persistents).toBe(0);
  });
});

describe("crossoverOf", () => {
  const points = (...times: readonly (readonly [work: number, ms: number, againstMs: number])[]): CalibrationPoint[] =>
    times.map(([work, ms, againstMs]) => ({ work, ms, againstMs }));

  test("is between the last slower and the next size, by a power law", () => {
    expect(crossoverOf(points([100, 4, 1], [10_000, 4, 16])).min).toBe(1000);
    // A win by chance among losses does not count.
    expect(crossoverOf(points([1, 1, 2], [100, 4, 1], [10_000, 4, 16])).min).toBe(1000);
  });

  test("is extrapolated if the gain grows, else never", () => {
    expect(crossoverOf(points([100, 10, 1], [200, 10, 2])).min).toBe(1000);
    expect(crossoverOf(points([100, 10, 1], [200, 11, 2])).min).toBe("never");
    expect(crossoverOf(points([100, 10, 1], [200, 10, 1.001])).min).toBe("never");
    expect(crossoverOf(points([100, 10, 1])).min).toBe("never");
  });

  test("is 0 if the backend is always faster", () => {
    expect(crossoverOf(points([100, 1, 2], [200, 1, 3]))).toEqual({ min: 0, reason: "faster at every size from 100 on" });
  });
});
