import { Worker } from "node:worker_threads";
import { wasm } from "@centella/backend-wasm";
import { createRuntime, DeviceLostError } from "@centella/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { loadModel } from "../src/worker/index.ts";
import { serveModels } from "../src/worker/serve.ts";
import { tiny } from "./modelFiles.ts";

/** "Once upon a time", with BOS. */
const once = [0, 2817, 632, 263, 534];

function start(script: string): Worker {
  return new Worker(new URL(`workers/${script}.ts`, import.meta.url), { execArgv: ["--conditions=@centella/source", "--no-warnings"] });
}

describe("a worker that has ended", () => {
  const workers: Worker[] = [];
  const started = (script: string): Worker => {
    const worker = start(script);
    workers.push(worker);
    return worker;
  };
  afterEach(async () => {
    vi.useRealTimers();
    for (const worker of workers.splice(0)) await worker.terminate();
  });

  test("fails running and later calls", async () => {
    const worker = started("serving");
    const model = await loadModel(tiny, { worker, contextLength: 256 });
    const session = model.createSession();
    const generation = session.generate({ ids: once }, { temperature: 0 });
    await generation.next();
    await worker.terminate();
    const rest = (async () => {
      for await (const _ of generation);
    })();
    await expect(rest).rejects.toBeInstanceOf(DeviceLostError);
    await expect(model.logits(once)).rejects.toBeInstanceOf(DeviceLostError);
  });

  test("is distinguished from a script that fails", async () => {
    await expect(loadModel(tiny, { worker: started("failing") })).rejects.toThrow(/its script failed: this script fails/);
  });

  test("is distinguished from a script that never serves models", async () => {
    vi.useFakeTimers();
    const silent = { postMessage: () => undefined, addEventListener: () => undefined, removeEventListener: () => undefined };
    const loading = loadModel(tiny, { worker: silent });
    const told = expect(loading).rejects.toThrow(/has not answered in 60 seconds: its script must call serveModels/);
    await vi.advanceTimersByTimeAsync(60_000);
    await told;
  });

  test("is not the main thread", () => {
    expect(() => serveModels(() => createRuntime({ backends: [wasm()] }))).toThrow(/expected a worker/);
    expect(() => serveModels(undefined as never)).toThrow(/expected a function that opens the runtime/);
  });
});

test("an error of a callback ends the call, as it does without a worker", async () => {
  const worker = start("serving");
  const onProgress = (): never => {
    throw new Error("thrown by a callback");
  };
  try {
    await expect(loadModel(tiny, { worker, onProgress })).rejects.toThrow("thrown by a callback");
    await using model = await loadModel(tiny, { worker });
    expect((await model.logits(once)).length).toBe(once.length * model.info.vocabSize);
  } finally {
    await worker.terminate();
  }
});
