import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadModel, type Model } from "../src/index.ts";
import { tiny } from "./modelFiles.ts";

const prompt = Array.from({ length: 900 }, (_, i) => ((i * 37) % 400) + 10);

describe.each([1, 2])("a model on WASM does not block the caller's thread, threads: %s", (threads) => {
  let runtime: Runtime;
  let model: Model;
  beforeAll(async () => {
    runtime = await createRuntime({ backends: [wasm({ threads })], policy: { force: "wasm" } });
    model = await loadModel(tiny, { runtime, contextLength: 1024, batchSize: 1024 });
  });
  afterAll(async () => {
    await model.dispose();
    await runtime.dispose();
  });

  test("the event loop runs while a prompt is computed and tokens are generated", async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const session = model.createSession();
    await session.complete({ ids: prompt }, { temperature: 0, maxTokens: 1 });
    expect(turns).toBeGreaterThan(3);
    turns = 0;
    // A token of this model takes a tenth of a millisecond, a turn of this timer a whole one.
    await session.complete({ ids: prompt.slice(0, 10) }, { temperature: 0, maxTokens: 400, ignoreEos: true });
    expect(turns).toBeGreaterThan(3);
    clearInterval(timer);
  });

  test("an abort in the middle of a prompt ends it, and the session continues like a fresh one", async () => {
    const session = model.createSession();
    const controller = new AbortController();
    const before = runtime.counters.wasm!.submits;
    // Nothing of it was computed before.
    const reading = session.complete({ ids: prompt.map((id) => id + 1) }, { temperature: 0, maxTokens: 1, signal: controller.signal });
    // The run is under way after some turns of the event loop, and not yet at its end.
    await new Promise((resolve) => setTimeout(resolve, 5));
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    expect(runtime.counters.wasm!.submits).toBe(before);
    const next = { temperature: 0, maxTokens: 12 } as const;
    const { ids } = await session.complete({ ids: prompt.slice(0, 20) }, next);
    expect(ids).toEqual((await model.createSession().complete({ ids: prompt.slice(0, 20) }, next)).ids);
  });
});
