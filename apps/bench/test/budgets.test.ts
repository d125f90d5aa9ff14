import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { wasm } from "@centella/backend-wasm";
import type { Backend, Plan } from "@centella/core";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { type Budget, exactly, type Figure, judge, readBudgets } from "../src/budgets/budget.ts";
import { allFigures } from "../src/budgets/figures.ts";
import { speedFigures } from "../src/budgets/speed.ts";
import { budgetsCommand } from "../src/cli/budgets.ts";
import { appFolder } from "../src/receipts/store.ts";

const folder = mkdtempSync(join(tmpdir(), "centella-budgets-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const reason = "a reason that is long enough to be one";

function fileOf(...budgets: readonly object[]): string {
  const path = join(folder, `${Math.random()}.json`);
  writeFileSync(path, JSON.stringify(budgets));
  return path;
}

async function run(figures: readonly Figure[], ...budgets: readonly object[]): Promise<{ readonly code: number; readonly err: string }> {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation(() => undefined);
  vi.spyOn(console, "error").mockImplementation((line: string) => {
    lines.push(line);
  });
  return { code: await budgetsCommand(["--file", fileOf(...budgets)], figures), err: lines.join("\n") };
}

/** Every run of a plan takes as long as `times` runs. */
function slowed(backend: Backend, times: number): Backend {
  return new Proxy(backend, {
    get(target, key) {
      if (key === "compile") {
        return async (...args: Parameters<Backend["compile"]>) => slowedPlan(await target.compile(...args), times);
      }
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function slowedPlan(plan: Plan, times: number): Plan {
  return new Proxy(plan, {
    get(target, key) {
      if (key === "run") {
        return (...args: Parameters<Plan["run"]>) => {
          for (let i = 1; i < times; i++) for (const y of Object.values(target.run(...args))) y.dispose();
          return target.run(...args);
        };
      }
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describe("budgets", () => {
  test("of the repository name every figure once, each with its reason", () => {
    const budgets = readBudgets(join(appFolder, "budgets.json"), allFigures());
    expect(new Set(budgets.map(({ figure }) => figure)).size).toBe(budgets.length);
  });

  test("hold while the kernel is what it is, and name figure and bar when it is slowed", async () => {
    const plain = (): Promise<Backend> => wasm({ threads: 1 }).open();
    const sum = (open: () => Promise<Backend>): readonly Figure[] => speedFigures("wasm", open).filter(({ name }) => name.includes("sum"));
    const budget = { figure: "wasm sum of 1 M over scalar loops", atLeast: 3, reason };
    expect(await run(sum(plain), budget)).toEqual({ code: 0, err: "" });
    const { code, err } = await run(
      sum(async () => slowed(await plain(), 60)),
      budget,
    );
    expect(code).toBe(1);
    expect(err).toMatch(
      /^budget: wasm sum of 1 M over scalar loops: expected at least 3 ×, got 0\.\d+ ×; a reason that is long enough to be one$/,
    );
  });

  test("are broken by a whole interval beyond the bar, not by its edge", () => {
    const figure: Figure = { name: "f", unit: "×", measure: async () => exactly(0) };
    const verdict = (bar: Partial<Budget>, low: number, high: number): string | undefined =>
      judge({ figure: "f", reason, ...bar }, figure, { value: { median: (low + high) / 2, low, high } }).broken;
    expect(verdict({ atLeast: 3 }, 2, 3.5)).toBeUndefined();
    expect(verdict({ atLeast: 3 }, 2, 2.9)).toMatch("f: expected at least 3 ×, got 2.45 ×");
    expect(verdict({ atMost: 2 }, 1.5, 4)).toBeUndefined();
    expect(verdict({ atMost: 2 }, 2.1, 4)).toMatch("f: expected at most 2 ×, got 3.05 ×");
  });

  test("a count one above its bar is broken", async () => {
    const figure: Figure = { name: "submits", unit: "submits", measure: async () => exactly(2) };
    const { code, err } = await run([figure], { figure: "submits", atMost: 1, reason });
    expect(code).toBe(1);
    expect(err).toContain("submits: expected at most 1 submits, got 2 submits");
  });

  test("a figure that cannot be measured is skipped, unless its backend is required", async () => {
    const figure: Figure = { name: "f", unit: "×", backend: "webgpu", measure: async () => ({ skipped: "no adapter" }) };
    const budget = { figure: "f", atMost: 1, reason };
    vi.stubEnv("REQUIRE_BACKENDS", "");
    expect((await run([figure], budget)).code).toBe(0);
    vi.stubEnv("REQUIRE_BACKENDS", "reference,webgpu");
    const { code, err } = await run([figure], budget);
    expect(code).toBe(1);
    expect(err).toBe("budget: f: REQUIRE_BACKENDS names webgpu, but it was skipped: no adapter");
  });

  test.each([
    [{ figure: "g", atMost: 1, reason }, /expected one of the figures f, got g/],
    [{ figure: "f", reason }, /entry 1: expected a figure, atLeast or atMost, and a reason in a sentence/],
    [{ figure: "f", atMost: 1, atLeast: 1, reason }, /entry 1: expected a figure/],
    [{ figure: "f", atMost: 1, reason: "so" }, /entry 1: expected a figure/],
    [{ figure: "f", atMost: 1, ms: 3, reason }, /entry 1: expected a figure/],
  ])("%j is refused", (entry, message) => {
    const figure: Figure = { name: "f", unit: "×", measure: async () => exactly(0) };
    expect(() => readBudgets(fileOf(entry), [figure])).toThrow(message);
  });

  test("a figure without a budget is refused", () => {
    const figure: Figure = { name: "f", unit: "×", measure: async () => exactly(0) };
    expect(() => readBudgets(fileOf(), [figure])).toThrow("expected a budget for f, got none");
  });
});
