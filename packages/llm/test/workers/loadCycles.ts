// Loads, uses and disposes of a model many times, and prints what the process holds: node --expose-gc loadCycles.ts BACKEND CYCLES [handles]
import { existsSync, readdirSync } from "node:fs";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "../../src/index.ts";

/** What a process holds after its garbage was collected. */
export interface Held {
  /** Models that are still reachable. */
  readonly models: number;
  /** WASM memories that are still reachable. */
  readonly memories: number;
  /** Files that are open, 0 where the platform does not list them. */
  readonly files: number;
  readonly backendBytes: number;
  readonly heapBytes: number;
  readonly bufferBytes: number;
  readonly residentBytes: number;
}

const [backend, cycles, keeps] = process.argv.slice(2);
const path = new URL("../../../model-fable/models/fable-tiny-q8_0.gguf", import.meta.url);
const openFiles = "/proc/self/fd";
/** Handles that the app keeps after it disposed of the models. */
const handles: object[] = [];
const models: WeakRef<object>[] = [];
const memories: WeakRef<WebAssembly.Memory>[] = [];

WebAssembly.Memory = class extends WebAssembly.Memory {
  constructor(descriptor: WebAssembly.MemoryDescriptor) {
    super(descriptor);
    memories.push(new WeakRef(this));
  }
};

const runtime = await createRuntime(
  backend === "wasm" ? { backends: [wasm({ threads: 2 })], policy: { force: "wasm" } } : { backends: [] },
);

async function cycle(): Promise<void> {
  const model = await loadModel(path, { runtime });
  models.push(new WeakRef(model));
  await model.createSession().complete("Once", { maxTokens: 2 });
  await model.dispose();
  if (keeps === "handles") handles.push(model);
}

async function held(): Promise<Held> {
  // A reference that was looked at stays until its job ends, and finalizers run in jobs of their own.
  for (let i = 0; i < 5; i++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    globalThis.gc!();
  }
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  const count = (references: readonly WeakRef<object>[]): number =>
    references.filter((reference) => reference.deref() !== undefined).length;
  return {
    models: count(models),
    memories: count(memories),
    files: existsSync(openFiles) ? readdirSync(openFiles).length : 0,
    backendBytes: runtime.backends.reduce((sum, one) => sum + Object.values(one.memory()).reduce((a, b) => a + b, 0), 0),
    heapBytes: heapUsed,
    bufferBytes: arrayBuffers,
    residentBytes: rss,
  };
}

// The first cycles load code, and fill what all models share.
for (let i = 0; i < 10; i++) await cycle();
const before = await held();
for (let i = 0; i < Number(cycles); i++) await cycle();
const after = await held();
await runtime.dispose();
process.stdout.write(JSON.stringify({ before, after }));
