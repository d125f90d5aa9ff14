import { parentPort, workerData } from "node:worker_threads";
import type { CeilingKernels } from "./kernels.ts";

/** Data that a thread is started with. */
export interface WorkerSetup {
  readonly module: WebAssembly.Module;
  /** Words: 0 counts starts, 1 threads that are ready, 2 threads that are done. */
  readonly control: Int32Array;
}

/** A job: the arguments of one kernel, or of `allocate`, which creates the thread's memory of the given bytes. */
export interface Job {
  readonly kernel: keyof CeilingKernels | "allocate";
  readonly args: readonly number[];
}

/** A job on its way to a thread, to be started when the count of starts reaches `start`. */
export interface PostedJob extends Job {
  readonly start: number;
}

const { module, control } = workerData as WorkerSetup;

/** The thread's own memory. Shared memory gets no large pages from the system and streams at half the speed. */
function instantiate(bytes: number): Partial<Record<Job["kernel"], (...args: number[]) => unknown>> {
  const memory = new WebAssembly.Memory({ initial: Math.max(1, Math.ceil(bytes / 65536)) });
  // Pages that were never written are one zero page, which is always in a cache.
  new Float64Array(memory.buffer).fill(1.1);
  const exported = new WebAssembly.Instance(module, { env: { memory } }).exports as CeilingKernels & WebAssembly.Exports;
  return {
    ...exported,
    allocate(more = 0) {
      kernels = instantiate(more);
    },
  };
}

let kernels = instantiate(0);
parentPort!.on("message", ({ kernel, args, start }: PostedJob) => {
  Atomics.add(control, 1, 1);
  Atomics.notify(control, 1);
  // All threads start together once each has its job. A thread without a job in some runs has missed starts, hence the count.
  for (let started = Atomics.load(control, 0); started < start; started = Atomics.load(control, 0)) Atomics.wait(control, 0, started);
  kernels[kernel]!(...args);
  Atomics.add(control, 2, 1);
  Atomics.notify(control, 2);
});
parentPort!.postMessage("ready");
