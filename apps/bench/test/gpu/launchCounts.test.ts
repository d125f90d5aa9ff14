import { webgpu } from "@centella/backend-webgpu";
import { createRuntime } from "@centella/core";
import type { ProgramGraph } from "@centella/core/backend";
import { loadModel } from "@centella/llm";
import { expect, test } from "vitest";
import { CudaBackend } from "../../../../packages/backend-cuda/src/backend.ts";
import { IdleDriver } from "../../../../packages/backend-cuda/test/device/idleDriver.ts";
import { overlay } from "../../../../packages/backend-webgpu/test/support/guardedGpu.ts";
import { Dispatches, h200 } from "../../../../packages/backend-webgpu/test/wgsl/kernelTexts.ts";
import { hollowGpu } from "../../src/gpu/hollowGpu.ts";
import { emptyModel } from "../../src/model/emptyModel.ts";
import { shapes } from "../../src/model/shapes.ts";

/** A model in Q4_K_M. */
const modelOf = (name: string): ReturnType<typeof emptyModel> => emptyModel(name, shapes[name]!, "Q4_K_M");

/** Launches of the graph of a decoded token on a device as an H200. One brings the token to the host. */
async function launchesPerToken(name: string): Promise<number> {
  const driver = new IdleDriver();
  const cuda = { name: "cuda", open: async () => new CudaBackend(driver) };
  await using runtime = await createRuntime({ backends: [cuda], policy: { force: "cuda" } });
  const model = await loadModel(modelOf(name), { runtime, contextLength: 1024 });
  await model.createSession().complete("a", { raw: true, maxTokens: 3, temperature: 0, ignoreEos: true });
  await model.dispose();
  return driver.launchesOfLastGraph;
}

test.each([
  ["llama-3.2-1b", 90],
  ["llama-3.1-8b", 170],
])("a token of %s takes %i launches on CUDA", async (name, most) => {
  expect(await launchesPerToken(name)).toBeLessThanOrEqual(most);
});

/** The program that a model records for WebGPU, which is not compiled. */
async function programOf(name: string): Promise<ProgramGraph> {
  const opened = await webgpu({ gpu: hollowGpu() }).open();
  let recorded: ProgramGraph | undefined;
  const recording = overlay(opened, {
    compile: async (program: ProgramGraph) => {
      recorded = program;
      throw new Error("the program is only recorded");
    },
  });
  const backend = { name: "webgpu", open: async () => recording };
  await using runtime = await createRuntime({ backends: [backend], policy: { force: "webgpu" } });
  const loading = loadModel(modelOf(name), { runtime, contextLength: 1024, activations: "ggml" });
  await expect(loading).rejects.toThrow("the program is only recorded");
  return recorded!;
}

/** A decoded token of one sequence, which is chosen on the device: no scores are read, and none are masked. */
const token = { T: 1, nSeq: 1, nOut: 1, nRead: 0, nMask: 0 };

test.each([
  ["llama-3.2-1b", 105],
  ["llama-3.1-8b", 201],
])("a token of %s takes %i dispatches on WebGPU, with the capabilities of an H200", async (name, most) => {
  const dispatches = new Dispatches(h200).ofProgram(await programOf(name)).filter(({ dispatch }) => dispatch.sizeIn(token).groups > 0);
  expect(dispatches.length).toBeLessThanOrEqual(most);
  expect(dispatches.length).toBeGreaterThan(shapes[name]!.layers);
});
