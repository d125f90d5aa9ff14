import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { wasm } from "@centella/backend-wasm";
import { isWholeGrid } from "@centella/test-devices";
import { describeInFirefox, serveBundle } from "@centella/test-devices/browserTests";
import { afterAll, expect, test } from "vitest";
import { type Continued, continueStory, story } from "./continuedStory.ts";
import { tiny } from "./modelFiles.ts";

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

describeInFirefox("models in Firefox", async (browser) => {
  const served = await serveBundle({
    scripts: { main: pathOf("pages/story.ts"), serving: pathOf("workers/serving.ts") },
    files: { "/model.gguf": readFileSync(tiny) },
  });
  afterAll(() => served[Symbol.asyncDispose]());
  const page = await (await browser.newContext()).newPage();
  await page.goto(served.url);
  await page.waitForFunction("globalThis.story");
  const { ids } = await continueStory(wasm({ threads: 1 }), tiny);

  test.each([1, 2])("generate on WASM what they generate in Node, threads: %d", async (threads) => {
    expect(ids).toHaveLength(story.generation.maxTokens);
    expect(await page.evaluate<Continued>(`story.onWasm(${threads})`)).toEqual({ ids, computedBy: ["wasm"] });
  });

  test("generate it through a worker", async () => {
    expect(await page.evaluate("story.inWorker()")).toEqual(ids);
  });

  const hasAdapter = await page.evaluate(`"gpu" in navigator && navigator.gpu.requestAdapter().then((adapter) => adapter !== null)`);
  if (hasAdapter !== true) {
    test.skip("have no WebGPU: this Firefox has none, or SwiftShader does not run here", () => undefined);
    return;
  }
  test("have WebGPU", async () => {
    expect(await page.evaluate("story.opsOnWebgpu()")).toEqual([2, 0, 6]);
  });
  // SwiftShader compiles the kernels of a model for 20 s.
  test.runIf(isWholeGrid)("generate it on WebGPU", async () => {
    expect(await page.evaluate<Continued>("story.onWebgpu()")).toEqual({ ids, computedBy: ["webgpu"] });
  });
});
