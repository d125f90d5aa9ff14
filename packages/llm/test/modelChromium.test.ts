import { evaluateInChromium, isRequired } from "@centella/test-devices";
import { describe, expect, test } from "vitest";
import { relativeError } from "./vectors.ts";

const prompt = [0, 2817, 632, 263, 534];
const count = 12;

/** What the page reports for one backend. */
interface Generated {
  readonly ids: readonly number[];
  readonly text: string;
  /** Logits of every position of the prompt and of WASM's ids, one token a run. */
  readonly rows: readonly (readonly number[])[];
  readonly ops: readonly string[];
}

interface Report {
  readonly wasm: Generated;
  /** On WebGPU, whose device was destroyed after two tokens. */
  readonly lost: { readonly ids: readonly number[]; readonly recoveries: number };
  /** On the device that was opened in its place. */
  readonly webgpu: Generated;
  /** From an engine in a worker. */
  readonly worker: { readonly device: string; readonly ids: readonly number[]; readonly error: string };
}

/** Runs in the page: fetches the tiny storyteller and generates on WASM, then on WebGPU, with exact activations. */
const generation = `(async () => {
  const { createRuntime } = await import("@centella/core");
  const { wasm } = await import("@centella/backend-wasm");
  const { webgpu } = await import("@centella/backend-webgpu");
  const { loadModel } = await import("@centella/llm");
  const url = new URL("/packages/model-fable/models/fable-tiny-q8_0.gguf", location.href);
  const options = { cacheType: "f32", activations: "f32", contextLength: 64, batchSize: 1 };
  const prompt = { ids: ${JSON.stringify(prompt)} };
  const greedy = { temperature: 0, maxTokens: ${count} };
  const generated = async (model, runtime, feed) => {
    const { ids, text } = await model.createSession().complete(prompt, greedy);
    const logits = await model.logits([...prompt.ids, ...(feed ?? ids)]);
    const width = model.info.vocabSize;
    const rows = Array.from({ length: logits.length / width }, (_, i) => [...logits.slice(i * width, (i + 1) * width)]);
    const ops = Object.entries(runtime.counters).filter(([, { ops }]) => Object.keys(ops).length > 0).map(([name]) => name);
    return { ids, text, rows, ops };
  };
  const onWasm = async () => {
    const runtime = await createRuntime({ backends: [wasm()], policy: { force: "wasm" } });
    const model = await loadModel(url, { runtime, ...options });
    const result = await generated(model, runtime);
    await model.dispose();
    await runtime.dispose();
    return result;
  };
  // One model for both, because its kernels take SwiftShader seconds on each device: first over the loss of its device, then on the new one.
  const onWebgpu = async (feed) => {
    const devices = [];
    const requestAdapter = async (options) => {
      const adapter = await navigator.gpu.requestAdapter(options);
      const requestDevice = async (descriptor) => {
        devices.push(await adapter.requestDevice(descriptor));
        return devices.at(-1);
      };
      return { info: adapter.info, limits: adapter.limits, features: adapter.features, requestDevice };
    };
    const gpu = { requestAdapter, wgslLanguageFeatures: navigator.gpu.wgslLanguageFeatures };
    const runtime = await createRuntime({ backends: [webgpu({ gpu })], policy: { force: "webgpu" } });
    const model = await loadModel(url, { runtime, ...options });
    const ids = [];
    for await (const part of model.createSession().generate(prompt, greedy)) {
      if (part.type !== "text") continue;
      if (ids.length < 2 && ids.length + part.ids.length >= 2) devices[0].destroy();
      ids.push(...part.ids);
    }
    const { recoveries } = runtime.backends[0];
    const afterLoss = await generated(model, runtime, feed);
    await model.dispose();
    await runtime.dispose();
    return { lost: { ids, recoveries }, webgpu: afterLoss };
  };
  const inWorker = async () => {
    const { loadModel } = await import("@centella/llm/worker");
    const script = \`
      import { createRuntime } from "\${location.origin}/packages/core/src/index.ts";
      import { wasm } from "\${location.origin}/packages/backend-wasm/src/index.ts";
      import { serveModels } from "\${location.origin}/packages/llm/src/worker/serve.ts";
      serveModels(() => createRuntime({ backends: [wasm({ threads: 2 })] }));\`;
    const worker = new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })), { type: "module" });
    const model = await loadModel(url, { worker, ...options });
    const text = await model.createSession().complete(prompt, greedy);
    const { device } = model.info;
    const missing = await loadModel(new URL("/packages/model-fable/models/none.gguf", location.href), { worker }).catch((error) => error);
    await model.dispose();
    worker.terminate();
    return { device, ids: text.ids, error: missing.constructor.name };
  };
  const generatedOnWasm = await onWasm();
  return { wasm: generatedOnWasm, ...(await onWebgpu(generatedOnWasm.ids)), worker: await inWorker() };
})()`;

describe("models in Chromium", async () => {
  const report = await evaluateInChromium<Report>(generation);
  if (typeof report === "string") {
    if (isRequired("webgpu")) test("Chromium is available", () => expect.fail(report));
    else test.skip(`Chromium is not available: ${report}`, () => undefined);
    return;
  }
  test("WASM and WebGPU generate the same text", () => {
    expect(report.wasm.ids).toHaveLength(count);
    expect(report.webgpu.ids).toEqual(report.wasm.ids);
    expect(report.webgpu.text).toBe(report.wasm.text);
    expect([report.wasm.ops, report.webgpu.ops]).toEqual([["wasm"], ["webgpu"]]);
  });
  test("a session goes on with the same tokens on a device that was opened in place of a destroyed one", () => {
    expect(report.lost).toEqual({ ids: report.wasm.ids, recoveries: 1 });
  });
  test("a worker with threads of its own generates it too, and its errors keep their classes", () => {
    expect(report.worker.ids).toEqual(report.wasm.ids);
    expect(report.worker.device).toMatch(/2 threads/);
    expect(report.worker.error).toBe("GgufError");
  });
  test("WebGPU's logits are within 1e-3 of WASM's at every step", () => {
    expect(report.webgpu.rows).toHaveLength(prompt.length + count);
    for (const [i, row] of report.webgpu.rows.entries()) {
      expect(relativeError(Float32Array.from(row), Float32Array.from(report.wasm.rows[i]!)), `step ${i}`).toBeLessThan(1e-3);
    }
  });
});
