// Times functions of a module on several threads over one memory, for scripts that print bounds.
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { atomic, i32 } from "../build/esm/emit/index.js";
import { memoryMap } from "../build/esm/memory/memoryMap.js";

/** Addresses: arrivals at a barrier, start times of threads, and the calls that each thread has taken. */
const [arrived, started, taken] = [0, 64, 2 ** 12].map((offset) => memoryMap.heap + offset);
/** The address from which scripts may use the memory. */
export const firstFree = memoryMap.heap + 2 ** 14;

/**
 * Emits `name(part, thread, counter, end, …)`, which takes the next call until there are `end`, and emits it by `call(f, params, index)`.
 * Other parameters are those of `signature`.
 */
export function emitCalls(module, name, signature, call) {
  module.function(name, { part: "i32", thread: "i32", counter: "i32", end: "i32", ...signature }, (f, { counter, end, ...params }) => {
    const index = f.local("i32");
    f.loop((again) => {
      f.set(index, atomic.add(counter, 1));
      f.if(i32.ltU(index, end), () => {
        call(f, params, index);
        f.br(again);
      });
    });
  });
}

/**
 * Opens `count` threads. `time(tasks, threads, runs)` runs tasks in turn, and returns the GB per second of all runs of each, in descending
 * order. A task has the name of its function, further arguments, the number of parts that it alternates between, calls per run and bytes per
 * call. With `isApart`, each thread takes calls of its own, and not the next free one.
 */
export function openThreads(module, memory, count) {
  const workers = Array.from(
    { length: count },
    (_, thread) => new Worker(new URL(import.meta.url), { workerData: { module, memory, thread } }),
  );
  const time = async (tasks, threads, runs) => {
    new Int32Array(memory.buffer)[arrived / 4] = 0;
    const done = workers.slice(0, threads).map((worker) => new Promise((resolve) => void worker.once("message", resolve)));
    for (const worker of workers.slice(0, threads)) worker.postMessage({ tasks, threads, runs });
    const [rates] = await Promise.all(done);
    return rates.map((all) => all.sort((a, b) => b - a));
  };
  return { time, close: () => Promise.all(workers.map((worker) => worker.terminate())) };
}

function runThread({ module, memory, thread }) {
  const constant = (value) => new WebAssembly.Global({ value: "i32", mutable: false }, value);
  const table = new WebAssembly.Table({ element: "anyfunc", initial: WebAssembly.Module.exports(module).length });
  const { exports } = new WebAssembly.Instance(module, { env: { memory, table, base: constant(0), thread: constant(thread) } });
  const words = new Int32Array(memory.buffer);
  // Other clocks of threads start at different times.
  const starts = new BigInt64Array(memory.buffer, started, 64);
  let passed = 0;
  const waitForAll = (threads) => {
    passed += threads;
    Atomics.add(words, arrived / 4, 1);
    while (Atomics.load(words, arrived / 4) < passed);
  };
  const run = ({ name, args, parts, isApart, calls, callBytes }, threads, index) => {
    const counter = taken + (isApart ? 64 * thread : 0);
    const [first, end] = isApart ? [thread, thread + 1].map((i) => Math.floor((calls * i) / threads)) : [0, calls];
    Atomics.store(words, counter / 4, first);
    waitForAll(threads);
    starts[thread] = process.hrtime.bigint();
    exports[name](index % parts, thread, counter, end, ...args);
    waitForAll(threads);
    const [start] = starts.slice(0, threads).sort();
    return (calls * callBytes) / Number(process.hrtime.bigint() - start);
  };
  parentPort.on("message", ({ tasks, threads, runs }) => {
    passed = 0;
    const rates = tasks.map(() => []);
    // Each task runs first as often as any other, and on all parts.
    for (let i = 0; i < runs; i++) {
      for (let j = 0; j < tasks.length; j++) {
        const t = (i + j) % tasks.length;
        rates[t].push(run(tasks[t], threads, i + 17 * t));
      }
    }
    parentPort.postMessage(rates);
  });
}

if (!isMainThread) runThread(workerData);

/** The rate that a tenth of runs reach, and the median: the machine may have other work. */
export function rateText(rates) {
  return `${highRate(rates).toFixed(1)} (median ${rates[rates.length >> 1].toFixed(1)})`;
}

/** The rate that a tenth of runs reach. */
export function highRate(rates) {
  return rates[Math.floor(rates.length / 10)];
}
