import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { type Calibration, createRuntime } from "@centella/core";
import type { MeasuredThresholds } from "@centella/core/backend";
import { describe, expect, test } from "vitest";
import { calibrationTable, measuredTables, thresholdsFile, withMeasured } from "../src/calibrate/measured.ts";

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

describe.each(["cuda", "wasm", "webgpu"])("the thresholds of %s", (backend) => {
  test("are what a runtime accepts", async () => {
    const { measured } = (await import(pathToFileURL(thresholdsFile(backend)).href)) as { measured: MeasuredThresholds };
    await using runtime = await createRuntime({ backends: [], policy: { thresholds: { [backend]: measured.thresholds } } });
    expect(runtime.backends).toHaveLength(1);
    expect(JSON.parse(JSON.stringify(measured))).toEqual(measured);
  });

  test("are rewritten below their declaration alone", () => {
    const text = readFileSync(thresholdsFile(backend), "utf8");
    const [table] = measuredTables(stored).values();
    const above = text.slice(0, text.indexOf("= {") + 2);
    expect(withMeasured(text, table!)).toBe(`${above}${JSON.stringify(table, undefined, 2)};\n`);
  });
});

test("a file without a declaration is refused", () => {
  const [table] = measuredTables(stored).values();
  expect(() => withMeasured("nothing", table!)).toThrow(/expected a line "export const measured/);
});

test("the table says how each threshold was chosen", () => {
  expect(calibrationTable(calibration).split("\n").slice(2)).toEqual([
    "| webgpu  | wasm    | compute | 400000000 | flops | slower up to 3e8, faster from 5e8 |",
    "| webgpu  | wasm    | memory  |         – | bytes | has no add                        |",
  ]);
});
