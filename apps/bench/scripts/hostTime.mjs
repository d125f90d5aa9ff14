// Measures the processor time that a model on a GPU takes, with a device that does nothing in the place of the GPU: for CUDA a driver of
// JavaScript, for WebGPU Dawn's null adapter, whose time counts.
//
//   node --conditions=@centella/source apps/bench/scripts/hostTime.mjs [--backend cuda | webgpu] [--shape llama-3.1-8b] [--type Q4_K_M]
//     [--tokens 2000] [--runs-in-flight N] [--sequences 16]
//
// Prints the time of the plan of each variant, the first one of each in this process, and the processor time of a decoded token. On WebGPU, the
// first is the processor time of the first run of some tokens beyond that of later runs, and a run is repeated alone: its processor time, and the
// bytes that it takes of JavaScript's heap. No file holds the weights.
import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import { webgpu } from "@centella/backend-webgpu";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { CudaBackend } from "../../../packages/backend-cuda/src/backend.ts";
import { IdleDriver } from "../../../packages/backend-cuda/test/device/idleDriver.ts";
import { idleGpu } from "../src/gpu/idleGpu.ts";
import { emptyModel } from "../src/model/emptyModel.ts";
import { shapes } from "../src/model/shapes.ts";
import { median } from "../src/stats/bootstrap.ts";

const { values } = parseArgs({
  options: {
    backend: { type: "string", default: "cuda" },
    "runs-in-flight": { type: "string" },
    sequences: { type: "string", default: "16" },
    shape: { type: "string", default: "llama-3.1-8b" },
    type: { type: "string", default: "Q4_K_M" },
    tokens: { type: "string", default: "2000" },
  },
});

/** Dawn without a GPU, whose results are zeros. */
function emptyGpu() {
  const { prototype } = createRequire(import.meta.resolve("@centella/backend-webgpu"))("webgpu").globals.GPUBuffer;
  const { getMappedRange } = prototype;
  prototype.getMappedRange = function (...range) {
    const memory = getMappedRange.apply(this, range);
    new Uint8Array(memory).fill(0);
    return memory;
  };
  return idleGpu();
}

const isWebgpu = values.backend === "webgpu";
const known = shapes[values.shape];
// The null adapter has 512 MiB. A quarter of the widths takes as many dispatches.
const quarter = Object.fromEntries(["embedding", "feedForward", "heads", "kvHeads", "vocabulary"].map((name) => [name, known[name] / 4]));
const shape = isWebgpu ? { ...known, ...quarter } : known;
const source = emptyModel(values.shape, shape, values.type);
const driver = new IdleDriver();
/** The model's plan, and the arguments of its last run. */
let plan;
let lastRun;

/** Opens a backend of which {@link plan} and {@link lastRun} are kept. */
async function openWatched() {
  const opened = isWebgpu ? await webgpu({ gpu: emptyGpu() }).open() : new CudaBackend(driver);
  const compile = opened.compile.bind(opened);
  opened.compile = async (...args) => {
    plan = await compile(...args);
    const run = plan.run.bind(plan);
    plan.run = (...given) => {
      lastRun = given;
      return run(...given);
    };
    // No variants are prepared while the model is loaded.
    plan.prepare = async () => undefined;
    return plan;
  };
  return opened;
}

const backend = { name: values.backend, open: openWatched };
const runtime = await createRuntime({ backends: [backend], policy: { force: backend.name } });
const inFlight = values["runs-in-flight"];
const model = await loadModel(source, {
  runtime,
  contextLength: isWebgpu ? 2048 : 8192,
  ...(!isWebgpu && { sequences: Number(values.sequences) }),
  ...(inFlight && { runsInFlight: Number(inFlight) }),
});

/** Processor time of some work, in microseconds. */
async function processorTime(work) {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

/** Times the plans of the variants that serve some texts with a token each, then of those that serve parts of one text. */
async function timePlans() {
  delete plan.prepare;
  const sizes = [];
  for (let texts = 1; texts <= Number(values.sequences); texts *= 2) sizes.push({ T: texts, nSeq: texts, nOut: texts });
  for (let tokens = 4096; tokens > 1; tokens /= 2) sizes.push({ T: tokens, nSeq: 1, nOut: 1 });
  for (const size of sizes) {
    const start = performance.now();
    await plan.prepare([{ ...size, nRead: 0, nMask: 0 }]);
    const time = performance.now() - start;
    console.log(`variant of ${size.T} tokens in ${size.nSeq} texts: ${time.toFixed(1)} ms`);
  }
}

async function timeFirstRuns() {
  for (const tokens of [1, 2, 3, 5, 9, 17, 33]) {
    const run = () => model.logits(Int32Array.from({ length: tokens }, (_, i) => i));
    const first = await processorTime(run);
    await run();
    const later = Math.min(await processorTime(run), await processorTime(run));
    console.log(`variant of ${tokens} tokens: ${((first - later) / 1000).toFixed(1)} ms`);
  }
}

/** Repeats the last run until its outputs are in host memory. */
async function replay(count) {
  const [inputs, options] = lastRun;
  for (let i = 0; i < count; i++) {
    const outputs = Object.values(plan.run(inputs, options));
    for (const output of outputs) {
      await output.ready();
      output.dispose();
    }
  }
}

/** Dispatches of the last run. */
async function countDispatches() {
  const { prototype } = createRequire(import.meta.resolve("@centella/backend-webgpu"))("webgpu").globals.GPUComputePassEncoder;
  const { dispatchWorkgroups } = prototype;
  let count = 0;
  prototype.dispatchWorkgroups = function (...size) {
    count++;
    return dispatchWorkgroups.apply(this, size);
  };
  await replay(1);
  prototype.dispatchWorkgroups = dispatchWorkgroups;
  return count;
}

async function timeReplays() {
  const dispatches = await countDispatches();
  const [times, bytes] = [[], []];
  await replay(1000);
  for (let i = 0; i < 50; i++) {
    times.push((await processorTime(() => replay(40))) / 40);
    const before = process.memoryUsage().heapUsed;
    await replay(4);
    bytes.push((process.memoryUsage().heapUsed - before) / 4);
  }
  const time = median(times);
  // A collection between two readings makes the heap smaller.
  const taken = median(bytes.filter((each) => each > 0));
  console.log(`a run again: ${dispatches} dispatches, ${time.toFixed(0)} µs of processor time (${(time / dispatches).toFixed(2)} each)`);
  console.log(`its objects: ${(taken / 1024).toFixed(1)} KiB of the heap`);
}

console.log(`${values.shape} ${values.type}`);
if (isWebgpu) await timeFirstRuns();
else await timePlans();

const decode = (tokens) => model.createSession().complete("a", { raw: true, maxTokens: tokens, temperature: 0, ignoreEos: true });
const tokens = Number(values.tokens);
// V8 goes on compiling for some of these.
const times = [];
for (let i = 0; i < 9; i++) times.push((await processorTime(() => decode(tokens))) / tokens);
if (isWebgpu) await timeReplays();
const [first, ...others] = times.map((time) => time.toFixed(1));
console.log(`decoding: ${median(times).toFixed(1)} µs of processor time per token (first ${first}, then ${others.join(", ")})`);
await model.dispose();
await runtime.dispose();
