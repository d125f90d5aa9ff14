import { parentPort, workerData } from "node:worker_threads";
import type { CeilingKernels } from "./kernels.ts";

/** What a thread is started with. */
export interface WorkerSetup {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  /** Words: 0 counts jobs given, 1 counts threads that are done with the newest. */
  readonly control: Int32Array;
}

/** A job: the arguments of one kernel. */
export interface Job {
  readonly kernel: keyof CeilingKernels;
  readonly args: readonly number[];
}

const { module, memory, control } = workerData as WorkerSetup;
const kernels = new WebAssembly.Instance(module, { env: { memory } }).exports as Readonly<Record<keyof CeilingKernels, (...args: number[]) => number>>;

let seen = 0;
parentPort!.on("message", ({ kernel, args }: Job) => {
  Atomics.add(control, 1, 1);
  Atomics.notify(control, 1);
  // All threads start together, once each has its job.
  Atomics.wait(control, 0, seen);
  seen = Atomics.load(control, 0);
  kernels[kernel](...args);
  Atomics.add(control, 1, 1);
  Atomics.notify(control, 1);
});
