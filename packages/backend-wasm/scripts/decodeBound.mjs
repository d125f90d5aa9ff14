// Prints what bounds one token times block weights in memory, in GB of weights per second: how fast threads of this machine read memory in
// order, multiply weights in the first-level cache, and multiply weights from memory. Run it after a build:
// node packages/backend-wasm/scripts/decodeBound.mjs [FORMAT,…] [THREADS,…]
import { availableParallelism } from "node:os";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { emitGroups } from "../build/esm/blockProducts/groups.js";
import { targetOf } from "../build/esm/detect.js";
import { i32x4, ModuleBuilder, v128 } from "../build/esm/emit/index.js";
import { formatOf } from "../build/esm/formats/index.js";
import { memoryMap } from "../build/esm/memory/memoryMap.js";

/** Columns of the matrix, its bytes, and groups of eight rows that a thread takes at once, as in plans. */
const [columns, matrixBytes, groupsAtOnce] = [2048, 768 * 2 ** 20, 16];
const rounds = 9;
/** Addresses: the number of tasks taken, a token's rounded activations, results of each thread, weights. */
const [taken, activations, results, weights] = [memoryMap.heap, 2 ** 19, 2 ** 20, 2 ** 23];

/** Emits `read(at, left)`: loads `left` bytes, a multiple of 128, in order. */
function emitRead(module) {
  module.value("read", { at: "i32", left: "i32" }, "i32", (f, { at, left }) => {
    const sums = f.locals("v128", 8);
    f.while(left, () => {
      for (const [i, sum] of sums.entries()) f.set(sum, i32x4.add(sum, v128.load(at, 16 * i)));
      f.advance(at, 128);
      f.advance(left, -128);
    });
    return i32x4.extract(
      sums.reduce((a, b) => i32x4.add(a, b)),
      0,
    );
  });
}

/** What a thread does with the groups that it takes. A group in the cache is multiplied again and again. */
const kinds = {
  read: ({ read }, _, { at, bytes }) => read(at, bytes - (bytes % 128)),
  "in cache": (exports, { format, blocks }, { y, thread, groups }) => {
    for (let group = 0; group < groups; group += 2) exports[`groups1.${format}`](weights + thread * 2 ** 20, activations, y, 16, blocks);
  },
  "from memory": (exports, { format, blocks }, { at, y, groups }) => exports[`groups1.${format}`](at, activations, y, 8 * groups, blocks),
};

function runThread({ module, memory, thread }) {
  const constant = (value) => new WebAssembly.Global({ value: "i32", mutable: false }, value);
  const table = new WebAssembly.Table({ element: "anyfunc", initial: WebAssembly.Module.exports(module).length });
  const { exports } = new WebAssembly.Instance(module, { env: { memory, table, base: constant(0), thread: constant(thread) } });
  const words = new Int32Array(memory.buffer);
  parentPort.on("message", (task) => {
    const bytes = groupsAtOnce * task.groupBytes;
    for (let i = Atomics.add(words, taken / 4, 1); i < task.tasks; i = Atomics.add(words, taken / 4, 1)) {
      kinds[task.kind](exports, task, { at: weights + i * bytes, bytes, y: results + thread * 2 ** 18, thread, groups: groupsAtOnce });
    }
    parentPort.postMessage("done");
  });
}

function prepareMemory() {
  const memory = new WebAssembly.Memory({ initial: (weights + matrixBytes) / 2 ** 16, maximum: 2 ** 16, shared: true });
  // Any 16 bits are a scale with an exponent: products of others take longer on some processors.
  const words = new Uint32Array(memory.buffer, activations);
  for (let i = 0, x = 1; i < words.length; i++) {
    x = (Math.imul(x, 1664525) + 1013904223) | 0;
    words[i] = (x & 0x1fff1fff) | 0x20002000;
  }
  return memory;
}

async function measure(formats, counts) {
  const builder = new ModuleBuilder({ shared: true, constants: memoryMap.constants, hasTable: true });
  emitGroups(builder, targetOf(true));
  emitRead(builder);
  const module = new WebAssembly.Module(builder.build());
  const memory = prepareMemory();
  const workers = Array.from({ length: Math.max(...counts) }, (_, thread) => {
    return new Worker(new URL(import.meta.url), { workerData: { module, memory, thread } });
  });
  const run = async (threads, task) => {
    new Int32Array(memory.buffer)[taken / 4] = 0;
    const start = performance.now();
    const done = workers.slice(0, threads).map((worker) => new Promise((resolve) => void worker.once("message", resolve)));
    for (const worker of workers.slice(0, threads)) worker.postMessage(task);
    await Promise.all(done);
    return (task.tasks * groupsAtOnce * task.groupBytes) / (performance.now() - start) / 1e6;
  };
  for (const format of formats) {
    const { elements, bytes } = formatOf(format);
    const blocks = columns / elements;
    const groupBytes = 8 * blocks * bytes;
    const tasks = Object.keys(kinds).map((kind) => ({
      kind,
      format,
      blocks,
      groupBytes,
      tasks: Math.floor(matrixBytes / groupsAtOnce / groupBytes),
    }));
    for (const threads of counts) {
      const rates = tasks.map(() => []);
      for (let round = 0; round <= rounds; round++) {
        for (const [i, task] of tasks.entries()) {
          const rate = await run(threads, task);
          // In the first round, kernels are compiled.
          if (round > 0) rates[i].push(rate);
        }
      }
      const medians = rates.map((all) => all.sort((a, b) => a - b)[rounds >> 1].toFixed(1));
      console.log(
        `${format}, threads: ${threads}: ${tasks.map(({ kind }, i) => `${kind} ${medians[i]} (highest ${rates[i].at(-1).toFixed(1)})`).join(", ")} GB/s`,
      );
    }
  }
  for (const worker of workers) await worker.terminate();
}

if (isMainThread) {
  const [formats = "q4_K,q6_K", counts = `1,2,${availableParallelism()}`] = process.argv.slice(2);
  await measure(formats.split(","), [...new Set(counts.split(",").map(Number))]);
} else runThread(workerData);
