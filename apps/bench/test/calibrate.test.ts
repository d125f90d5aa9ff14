import { readFileSync } from "node:fs";
import { type Calibration, createRuntime } from "@centella/core";
import type { MeasuredThresholds } from "@centella/core/backend";
import { describe, expect, test } from "vitest";
import * as cuda from "../../../packages/backend-cuda/src/thresholds.ts";
import * as wasm from "../../../packages/backend-wasm/src/thresholds.ts";
import * as webgpu from "../../../packages/backend-webgpu/src/thresholds.ts";
import { calibrationTable, measuredTables, thresholdsFile, thresholdsText } from "../src/calibrate/measured.ts";

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

test("a calibration gives each measured backend its table", () => {
  expect([...measuredTables(stored)]).toEqual([
    [
      "webgpu",
      {
        against: "wasm",
        measuredAt: "2026-11-21",
        machine: "a machine",
        commit: "0123456789",
        reasons: { compute: "slower up to 3e8, faster from 5e8", memory: "has no add" },
        thresholds: { compute: { min: 4e8, unit: "flops" } },
      } satisfies MeasuredThresholds,
    ],
  ]);
});

describe.each(Object.entries({ cuda, wasm, webgpu }))("the thresholds of %s", (backend, { thresholds, origin }) => {
  test("are what a runtime accepts", async () => {
    await using runtime = await createRuntime({ backends: [], policy: { thresholds: { [backend]: thresholds } } });
    expect(runtime.backends).toHaveLength(1);
  });

  test("are written as they were committed", () => {
    // The formatter leaves out the quotes of keys, and sets commas after the last one.
    const plain = (text: string): string => text.replace(/["\s]|,(?=\s*\})/g, "");
    expect(plain(readFileSync(thresholdsFile(backend), "utf8"))).toBe(plain(thresholdsText({ thresholds, ...origin })));
  });
});

test("the table says how each threshold was chosen", () => {
  expect(calibrationTable(calibration).split("\n").slice(2)).toEqual([
    "| webgpu  | wasm    | compute | 400000000 | flops | slower up to 3e8, faster from 5e8 |",
    "| webgpu  | wasm    | memory  |         – | bytes | has no add                        |",
  ]);
});
