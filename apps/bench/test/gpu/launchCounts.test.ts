import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { expect, test } from "vitest";
import { CudaBackend } from "../../../../packages/backend-cuda/src/backend.ts";
import { IdleDriver } from "../../../../packages/backend-cuda/test/idleDriver.ts";
import { emptyModel } from "../../src/model/emptyModel.ts";
import { shapes } from "../../src/model/shapes.ts";

/** Launches of the graph of a decoded token of a model in Q4_K_M, on a device as an H200. One brings the token to the host. */
async function launchesPerToken(name: string): Promise<number> {
  const driver = new IdleDriver();
  const cuda = { name: "cuda", open: async () => new CudaBackend(driver) };
  await using runtime = await createRuntime({ backends: [cuda], policy: { force: "cuda" } });
  const model = await loadModel(emptyModel(name, shapes[name]!, "Q4_K_M"), { runtime, contextLength: 1024 });
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
