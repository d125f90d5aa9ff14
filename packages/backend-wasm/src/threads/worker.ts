/** i32 fields of the control block. */
export const controlFields = { epoch: 0, remaining: 1, done: 2, total: 3, sleeping: 4, isWaiting: 5, failed: 6, count: 16 } as const;

/** f64 fields of a job: index of the function, number of arguments, arguments. */
export const jobFields = 20;

/** What a worker is started with. */
export interface WorkerStart {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  readonly control: number;
  readonly jobs: number;
  readonly names: readonly string[];
  readonly fields: typeof controlFields;
  readonly jobFields: number;
  readonly spinMs: number;
}

/**
 * What a worker runs. Its text is the worker's whole program, so that no file has to be found next to a bundle: it refers to nothing
 * outside itself.
 */
export function workerMain(): void {
  interface NodeWorker {
    readonly workerData: WorkerStart;
    readonly parentPort: { postMessage(message: unknown): void };
  }
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): NodeWorker } };
  const walk = (start: WorkerStart, post: (message: unknown) => void): void => {
    const { exports } = new WebAssembly.Instance(start.module, { env: { memory: start.memory } });
    const calls = start.names.map((name) => exports[name] as (...args: number[]) => unknown);
    const { epoch, remaining, done, total, sleeping, isWaiting, failed, count } = start.fields;
    const control = new Int32Array(start.memory.buffer, start.control, count);
    const jobs = new Float64Array(start.memory.buffer, start.jobs);
    post("ready");
    for (;;) {
      const seen = Atomics.load(control, epoch);
      let until = performance.now() + start.spinMs;
      while (performance.now() < until) {
        for (let poll = 0; poll < 50 && Atomics.load(control, remaining) <= 0; poll++);
        while (Atomics.load(control, remaining) > 0) {
          const left = Atomics.sub(control, remaining, 1);
          if (left <= 0) break;
          const at = (left - 1) * start.jobFields;
          try {
            calls[jobs[at]!]!(...jobs.subarray(at + 2, at + 2 + jobs[at + 1]!));
          } catch {
            Atomics.store(control, failed, 1);
          }
          const finished = Atomics.add(control, done, 1) + 1;
          if (finished >= Atomics.load(control, total) && Atomics.load(control, isWaiting) !== 0) Atomics.notify(control, done);
          until = performance.now() + start.spinMs;
        }
      }
      Atomics.add(control, sleeping, 1);
      Atomics.wait(control, epoch, seen);
      Atomics.sub(control, sleeping, 1);
    }
  };
  const node = process?.getBuiltinModule?.("node:worker_threads");
  if (node !== undefined) walk(node.workerData, (message) => node.parentPort.postMessage(message));
  else addEventListener("message", ({ data }: MessageEvent<WorkerStart>) => walk(data, (message) => postMessage(message)));
}
