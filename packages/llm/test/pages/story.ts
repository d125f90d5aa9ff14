import { wasm } from "@centella/backend-wasm";
import { webgpu } from "@centella/backend-webgpu";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm/worker";
import { type Continued, continueStory, story } from "../continuedStory.ts";

const source = new URL("/model.gguf", location.href).href;

async function inWorker(): Promise<readonly number[]> {
  const worker = new Worker("/serving.js", { type: "module" });
  try {
    await using model = await loadModel(source, { worker, ...story.settings });
    return (await model.createSession().complete(story.prompt, story.generation)).ids;
  } finally {
    worker.terminate();
  }
}

/** A chain of ops on WebGPU: `relu([1, -2, 3]) * 2`. */
async function opsOnWebgpu(): Promise<readonly number[]> {
  await using runtime = await createRuntime({ backends: [webgpu()], policy: { force: "webgpu" } });
  return [...(await runtime.lazy([1, -2, 3]).relu().scale({ by: 2 }).data())].map(Number);
}

/** What the test evaluates. */
export interface StoryPage {
  onWasm(threads: number): Promise<Continued>;
  onWebgpu(): Promise<Continued>;
  opsOnWebgpu(): Promise<readonly number[]>;
  inWorker(): Promise<readonly number[]>;
}

const page: StoryPage = {
  onWasm: (threads) => continueStory(wasm({ threads, sync: false }), source),
  onWebgpu: () => continueStory(webgpu(), source),
  opsOnWebgpu,
  inWorker,
};

Object.assign(globalThis, { story: page });
