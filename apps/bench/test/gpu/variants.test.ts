import { createProgram } from "@centella/core";
import { named } from "@centella/quant/checks";
import { afterEach, expect, test, vi } from "vitest";
import { CudaBackend } from "../../../../packages/backend-cuda/src/backend.ts";
import { IdleDriver } from "../../../../packages/backend-cuda/test/device/idleDriver.ts";
import { tinyShape } from "../../src/gpu/models.ts";
import { furtherVariants, runSizes } from "../../src/gpu/variants.ts";
import { shapes } from "../../src/model/shapes.ts";

afterEach(() => vi.restoreAllMocks());

test.each(["javascript", "first run"] as const)(
  "each call of a row of further variants (%s) plans one that loading has not prepared",
  async (part) => {
    const driver = new IdleDriver();
    const captured = vi.spyOn(driver, "endCapture");
    const backend = new CudaBackend(driver);
    const compiled = vi.spyOn(backend, "compile");
    const subject = await furtherVariants(
      backend,
      { name: "tiny", shape: tinyShape, contextLength: 64, sequences: 2, type: "Q4_K_M" },
      part,
    );
    const compiledBefore = compiled.mock.calls.length;
    // 4 to 64 tokens of two texts, one of which wants a token.
    const sizes = 5;
    captured.mockClear();
    expect(await subject.sample(2 * sizes, 0)).toBeGreaterThan(0);
    expect(captured.mock.calls.length).toBe(part === "javascript" ? 0 : 2 * sizes);
    // The plan is made once more when all sizes have variants.
    expect(compiled.mock.calls.length - compiledBefore).toBe(1);
    expect(backend.plans.size).toBe(2);
    await subject.dispose();
    expect(backend.plans.size).toBe(0);
    await backend.dispose();
  },
);

test("further variants have no more tokens than the plan's runs", async () => {
  const program = createProgram();
  program.output("y", program.relu(program.input("x", "f32", [program.dim("T", 48)])));
  const backend = new CudaBackend(new IdleDriver());
  const plan = await backend.compile(program);
  expect([...new Set(runSizes(plan, 4).map(({ T }) => T))]).toEqual([4, 8, 16, 32]);
  await backend.dispose();
});

test("a model's prompts of several texts need no kernels beyond those of loading", async () => {
  const driver = new IdleDriver();
  const loaded = vi.spyOn(driver, "loadModule");
  const backend = new CudaBackend(driver);
  const tested = {
    name: "llama-3.2-1b",
    shape: named(shapes, "llama-3.2-1b"),
    contextLength: 8192,
    sequences: 16,
    type: "Q4_K_M",
  } as const;
  const subject = await furtherVariants(backend, tested, "javascript");
  expect(loaded).toHaveBeenCalled();
  loaded.mockClear();
  await subject.sample(64, 0);
  expect(loaded).not.toHaveBeenCalled();
  await subject.dispose();
  await backend.dispose();
});
