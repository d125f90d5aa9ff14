import { readFileSync } from "node:fs";
import type { Calibration } from "@centella/core";
import { type MeasuredThresholds, measuredThresholds } from "@centella/core/backend";
import { expect, test } from "vitest";
import { calibrationTable, mergeMeasured, thresholdsFile, withMeasured } from "../src/calibrate/measured.ts";

const calibration: Calibration = {
  measuredAt: "2026-11-21T10:00:00.000Z",
  machine: "a machine",
  budgetMs: 1000,
  thresholds: { webgpu: { compute: { min: 4e8, unit: "flops" } } },
  comparisons: [
    {
      backend: "webgpu",
      against: "wasm",
      class: "compute",
      unit: "flops",
      points: [],
      min: 4e8,
      reason: "slower up to 3e8, faster from 5e8",
    },
    { backend: "webgpu", against: "wasm", class: "memory", unit: "bytes", points: [], reason: "has no add" },
  ],
};
const stored = { commit: { sha: "0123456789abcdef0123456789abcdef01234567", isClean: true }, calibration };

test("a calibration takes the place of its backends' entries and keeps the others", () => {
  const before = measuredThresholds.find(({ backend }) => backend === "wasm")!;
  const merged = mergeMeasured([before, { ...before, backend: "webgpu" }], stored);
  expect(merged.map(({ backend }) => backend)).toEqual(["wasm", "webgpu"]);
  expect(merged[0]).toBe(before);
  expect(merged[1]).toEqual({
    backend: "webgpu",
    against: "wasm",
    measuredAt: "2026-11-21",
    machine: "a machine",
    commit: "0123456789",
    reasons: { compute: "slower up to 3e8, faster from 5e8", memory: "has no add" },
    thresholds: { compute: { min: 4e8, unit: "flops" } },
  } satisfies MeasuredThresholds);
});

test("the thresholds file is rewritten below its declaration alone", () => {
  const text = readFileSync(thresholdsFile, "utf8");
  const rewritten = withMeasured(text, []);
  expect(rewritten).toBe(`${text.slice(0, text.indexOf("= [") + 2)}[];\n`);
  expect(() => withMeasured("nothing", [])).toThrow(/expected a line "export const measuredThresholds/);
});

test("the table says how each threshold was chosen", () => {
  expect(calibrationTable(calibration).split("\n").slice(2)).toEqual([
    "| webgpu  | wasm    | compute | 400000000 | flops | slower up to 3e8, faster from 5e8 |",
    "| webgpu  | wasm    | memory  |         – | bytes | has no add                        |",
  ]);
});
