import { parentPort, workerData } from "node:worker_threads";
import type { CeilingKernels } from "./kernels.ts";

/** What a thread is started with. */
export interface WorkerSetup {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  /** Words: 0 counts starts, 1 threads that are ready, 2 threads that are done. */
  readonly control: Int32Array;
}

/** A job: the arguments of one kernel. */
export interface Job {
  readonly kernel: keyof CeilingKernels;
  readonly args: readonly number[];
}

/** A job on its way to a thread, to be started when the count of starts reaches `start`. */
export interface PostedJob extends Job {
  readonly start: number;
}

const { module, memory, control } = workerData as WorkerSetup;
const kernels = new WebAssembly.Instance(module, { env: { memory } }).exports as Readonly<
  Record<keyof CeilingKernels, (...args: number[]) => number>
>;

parentPort!.on("message", ({ kernel, args, start }: PostedJob) => {
  Atomics.add(control, 1, 1);
  Atomics.notify(control, 1);
  // All threads start together, once each has its job. A thread that sat runs out has missed starts, hence the count.
  for (let started = Atomics.load(control, 0); started < start; started = Atomics.load(control, 0)) Atomics.wait(control, 0, started);
  kernels[kernel](...args);
  Atomics.add(control, 2, 1);
  Atomics.notify(control, 2);
});
parentPort!.postMessage("ready");
