// Measures the time that JavaScript takes of a model on CUDA, with a driver that does nothing in the place of the GPU:
//
//   node --conditions=@centella/source apps/bench/scripts/hostTime.mjs [--shape llama-3.1-8b] [--type Q4_K_M] [--tokens 2000]
//
// Prints the processor time of the first run of each number of tokens beyond that of later runs, which is the plan of a variant, and that
// of a decoded token. No file holds the weights.
import { parseArgs } from "node:util";
import { CudaBackend } from "@centella/backend-cuda";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { modelHeader } from "../src/model/generate.ts";
import { shapes } from "../src/model/shapes.ts";

const { values } = parseArgs({
  options: {
    shape: { type: "string", default: "llama-3.1-8b" },
    type: { type: "string", default: "Q4_K_M" },
    tokens: { type: "string", default: "2000" },
  },
});

/** A driver of a GPU on which all work is over at once and every result is zeros. */
class IdleDriver {
  device = { name: "idle", computeCapability: [9, 0], multiprocessors: 132, totalBytes: 2 ** 37, driverVersion: 13_000 };
  launches = 0;
  bytesRead = 0;
  #handles = 2n ** 32n;

  alloc(bytes) {
    const address = this.#handles;
    this.#handles += BigInt(256 * Math.ceil(bytes / 256));
    return address;
  }
  memoryInfo = () => ({ free: 2 ** 37, total: 2 ** 37 });
  allocPinned = () => this.#handles++;
  readPinned(_memory, _offset, into) {
    this.bytesRead += into.length;
  }
  launch() {
    this.launches++;
  }
  endCapture = () => this.#handles++;
  loadModule = async () => this.#handles++;
  kernel = () => this.#handles++;
  finished = () => new Promise((resolve) => setImmediate(resolve));
  free() {}
  freePinned() {}
  writePinned() {}
  copyToDevice() {}
  copyFromDevice() {}
  copyOnDevice() {}
  zero() {}
  beginCapture() {}
  launchGraph() {}
  freeGraph() {}
  unloadModule() {}
  close() {}
}

const shape = shapes[values.shape];
const { header, total } = modelHeader(values.shape, shape, values.type);
// Norms and factors may not be 0.
const data = new Uint8Array(2 ** 24).fill(0x3f);
const source = {
  size: total,
  async read(offset, length) {
    if (offset >= header.length && length <= data.length) return data.subarray(0, length);
    const bytes = new Uint8Array(length).fill(0x3f);
    bytes.set(header.subarray(offset, offset + length));
    return bytes;
  },
};
const driver = new IdleDriver();
const runtime = await createRuntime({ backends: [{ name: "cuda", open: async () => new CudaBackend(driver) }], policy: { force: "cuda" } });
const model = await loadModel(source, { runtime, contextLength: 8192 });

/** Processor time of some work, in microseconds. */
async function processorTime(work) {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

console.log(`${values.shape} ${values.type}`);
for (const tokens of [1, 2, 3, 5, 9, 17, 33]) {
  const run = () => model.logits(Int32Array.from({ length: tokens }, (_, i) => i));
  const before = driver.launches;
  const first = await processorTime(run);
  const launches = driver.launches - before;
  await run();
  const later = Math.min(await processorTime(run), await processorTime(run));
  console.log(`variant of ${tokens} tokens: ${((first - later) / 1000).toFixed(1)} ms for ${launches} launches`);
}

const decode = (tokens) => model.createSession().complete("a", { raw: true, maxTokens: tokens, temperature: 0 });
const tokens = Number(values.tokens);
await decode(tokens);
driver.bytesRead = 0;
const time = await processorTime(() => decode(tokens));
console.log(
  `decoding: ${(time / tokens).toFixed(1)} µs of processor time and ${(driver.bytesRead / tokens).toFixed(1)} bytes read per token`,
);
await model.dispose();
await runtime.dispose();
