// Splits the time of a further variant of a model's plan on CUDA: JavaScript, digests of texts, the driver's compiler and loader, the graph.
//
//   node --conditions=@centella/source apps/bench/scripts/variantTime.mjs [--driver native | idle] [--shape llama-3.1-8b] [--type Q4_K_M]
//     [--sequences 16] [--further 24] [--codes FOLDER]
//
// Prints the time that the variants of loading take together, then medians of further variants one by one: several texts with more tokens than texts.
// Then the same plan is made once more, whose texts are written again for kernels that are loaded. "idle" is a driver of JavaScript that does
// nothing. Code of kernels is kept in FOLDER, by default an empty one; CUDA_CACHE_DISABLE=1 also keeps the driver from using code of earlier processes.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { KernelCache } from "@centella/core/kernelCache";
import { CudaBackend } from "../../../packages/backend-cuda/src/backend.ts";
import { CodeCache } from "../../../packages/backend-cuda/src/device/codeCache.ts";
import { openNativeDriver } from "../../../packages/backend-cuda/src/nativeDriver.ts";
import { IdleDriver } from "../../../packages/backend-cuda/test/device/idleDriver.ts";
import { plannedModel, prepare, runSizes, zeros } from "../src/gpu/variants.ts";
import { shapes } from "../src/model/shapes.ts";
import { median } from "../src/stats/bootstrap.ts";

const { values } = parseArgs({
  options: {
    codes: { type: "string" },
    driver: { type: "string", default: "native" },
    further: { type: "string", default: "24" },
    sequences: { type: "string", default: "16" },
    shape: { type: "string", default: "llama-3.1-8b" },
    type: { type: "string", default: "Q4_K_M" },
  },
});

/** Milliseconds of what is watched since the last {@link take}, and loads of modules. */
const spent = { digests: 0, graphs: 0, texts: 0, bytes: 0, loads: [] };

function take() {
  const taken = { ...spent };
  Object.assign(spent, { digests: 0, graphs: 0, texts: 0, bytes: 0, loads: [] });
  return taken;
}

/** Digests are computed before the first wait. */
class WatchedCodes extends CodeCache {
  read(ptx) {
    const start = performance.now();
    const code = super.read(ptx);
    spent.digests += performance.now() - start;
    return code;
  }
}

/** Replaces methods of the driver that are of interest. */
function watch(driver) {
  const { compile, loadModule, beginCapture, endCapture } = driver;
  const timed = async (kind, entry, work) => {
    const start = performance.now();
    try {
      return await work();
    } finally {
      spent.loads.push({ kind, entry, milliseconds: performance.now() - start });
    }
  };
  driver.compile = (ptx) => timed("linker", /\.entry (\w+)/.exec(ptx)?.[1], () => compile.call(driver, ptx));
  driver.loadModule = (image, entry) => {
    spent.texts++;
    spent.bytes += image.length;
    const kind = typeof image === "string" ? "compiler" : "loader";
    return timed(kind, entry, () => loadModule.call(driver, image, entry));
  };
  let start = 0;
  driver.beginCapture = () => {
    start = performance.now();
    beginCapture.call(driver);
  };
  driver.endCapture = () => {
    const graph = endCapture.call(driver);
    spent.graphs += performance.now() - start;
    return graph;
  };
  return driver;
}

/** Wall time of some work, and the part of it in which this thread was busy, in milliseconds. */
async function timesOf(work) {
  const [start, before] = [performance.now(), performance.eventLoopUtilization()];
  await work();
  return { wall: performance.now() - start, busy: performance.eventLoopUtilization(before).active };
}

function describe({ wall, busy }, { digests, graphs, texts, bytes, loads }) {
  const of = (kind) => {
    const times = loads.filter((load) => load.kind === kind).map(({ milliseconds }) => milliseconds);
    return times.length === 0
      ? ""
      : `, ${kind} ${times.length} times, ${sum(times)} ms in all threads, at most ${Math.max(...times).toFixed(1)} ms`;
  };
  const graph = graphs > 0 ? `, ${graphs.toFixed(2)} ms of it for a graph` : "";
  const parts = `this thread is busy for ${busy.toFixed(2)} ms${graph}, ${digests.toFixed(2)} ms for digests`;
  return `${wall.toFixed(2)} ms; ${parts}; ${texts} modules of ${(bytes / 1024).toFixed(0)} KiB${["linker", "compiler", "loader"].map(of).join("")}`;
}

function sum(times) {
  return times.reduce((all, each) => all + each, 0).toFixed(0);
}

function middle(rows, key) {
  return `${median(rows.map((row) => row[key])).toFixed(2)} ms (at most ${Math.max(...rows.map((row) => row[key])).toFixed(2)})`;
}

/** Prepares variants one by one, and starts a run of each. */
async function timeEach(plan, sizes) {
  const rows = [];
  take();
  for (const size of sizes) {
    const inputs = zeros(plan, size);
    let outputs = [];
    const prepared = await timesOf(() => prepare(plan, size));
    const run = await timesOf(async () => {
      outputs = Object.values(plan.run(inputs, { dims: size }));
    });
    for (const output of outputs) {
      await output.ready();
      output.dispose();
    }
    const { digests, graphs, texts, loads } = take();
    rows.push({ javascript: prepared.busy, prepared: prepared.wall, digests, graphs, ready: prepared.wall + run.wall, texts });
    for (const { kind, entry, milliseconds } of loads)
      console.log(`  ${JSON.stringify(size)}: ${kind} ${entry} ${milliseconds.toFixed(1)} ms`);
  }
  for (const [what, key] of [
    ["JavaScript of the plan", "javascript"],
    ["  digests of texts", "digests"],
    ["prepared", "prepared"],
    ["graph of the first run", "graphs"],
    ["until the first run is queued", "ready"],
  ])
    console.log(`  ${what}: ${middle(rows, key)}`);
  console.log(`  modules: ${rows.reduce((all, { texts }) => all + texts, 0)} for ${rows.length} variants`);
}

const folder = values.codes ?? (await mkdtemp(join(tmpdir(), "kernels-")));
const driver = watch(values.driver === "idle" ? new IdleDriver() : await openNativeDriver(0));
const backend = new CudaBackend(driver, new WatchedCodes(new KernelCache(folder), driver.device));
const sequences = Number(values.sequences);
const contextLength = 8192;
const model = await plannedModel(backend, { name: values.shape, shape: shapes[values.shape], type: values.type, contextLength, sequences });
console.log(`${values.shape} ${values.type}, ${driver.device.name}`);
take();
const together = await timesOf(() => model.plan.prepare(model.asked));
const loading = take();
console.log(`the ${model.asked.length} variants of loading: ${describe(together, loading)}`);
for (const { kind, entry, milliseconds } of loading.loads.toSorted((a, b) => b.milliseconds - a.milliseconds).slice(0, 5))
  console.log(`  ${kind} ${entry}: ${milliseconds.toFixed(0)} ms`);
const further = runSizes(model.plan, sequences).filter((size) => !model.isPrepared(size));
const step = Math.max(1, Math.floor(further.length / Number(values.further)));
console.log("further variants:");
await timeEach(
  model.plan,
  further.filter((_, i) => i % step === 0),
);
const again = await model.again();
console.log("variants of loading, texts written again:");
await timeEach(again, model.asked);
again.dispose();
await model.dispose();
await backend.dispose();
if (values.codes === undefined) await rm(folder, { recursive: true, force: true });
