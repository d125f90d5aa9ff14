/** i32 fields of the memory through which the pool directs its workers. */
export const poolFields = { epoch: 0, mail: 1, memoryId: 2, helpers: 3, count: 16 } as const;

/** Results of `runTiles`. */
export const stageResult = { idle: 0, ended: 1, budget: 2, waited: 3 } as const;

/** What a worker starts with. */
export interface WorkerStart {
  readonly pool: SharedArrayBuffer;
  readonly index: number;
  readonly fields: typeof poolFields;
  readonly results: typeof stageResult;
  /** Polls for a tile, and ms between runs, before the thread sleeps. */
  readonly spins: number;
  readonly spinMs: number;
}

/** Messages to a worker, which answers each with its `id`. */
export type WorkerMail =
  | {
      readonly id: number;
      readonly load: WebAssembly.Module;
      readonly memoryId: number;
      readonly memory: WebAssembly.Memory;
      readonly base: number;
      readonly count: number;
    }
  | { readonly id: number; readonly unload: true; readonly memoryId: number; readonly base: number; readonly count: number }
  | { readonly id: number; readonly drop: true; readonly memoryId: number };

/** Messages from a worker. */
export type WorkerReport = { readonly ready: true } | { readonly done: number; readonly error?: string } | { readonly ended: true };

/**
 * The whole program of a worker, used as text so that bundles need no second file. It references nothing outside
 * itself.
 */
export function workerMain(): void {
  interface MemoryModules {
    readonly table: WebAssembly.Table;
    runTiles?: (budget: number, spins: number, patience: number) => number;
    abandon?: () => number;
  }
  interface NodeWorker {
    readonly workerData: WorkerStart;
    readonly parentPort: { postMessage(message: unknown): void; on(event: "message", listener: (mail: WorkerMail) => void): void };
  }
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): NodeWorker } };
  const memories = new Map<number, MemoryModules>();

  const handle = (mail: WorkerMail, index: number): void => {
    if ("drop" in mail) {
      memories.delete(mail.memoryId);
      return;
    }
    const modules: MemoryModules = memories.get(mail.memoryId) ?? { table: new WebAssembly.Table({ element: "anyfunc", initial: 0 }) };
    memories.set(mail.memoryId, modules);
    const { table } = modules;
    const end = mail.base + mail.count;
    if ("unload" in mail) {
      for (let at = mail.base; at < end; at++) table.set(at, null);
      return;
    }
    if (table.length < end) table.grow(end - table.length);
    const base = new WebAssembly.Global({ value: "i32", mutable: false }, mail.base);
    const thread = new WebAssembly.Global({ value: "i32", mutable: false }, index);
    const { exports } = new WebAssembly.Instance(mail.load, { env: { memory: mail.memory, table, base, thread } });
    if ("runTiles" in exports) Object.assign(modules, exports);
  };

  const start = (
    { pool, index, fields, results, spins, spinMs }: WorkerStart,
    post: (report: WorkerReport) => void,
  ): ((mail: WorkerMail) => void) => {
    const control = new Int32Array(pool);
    let handled = 0;
    /** Runs lists until there is a message. */
    const work = (): void => {
      for (;;) {
        const seen = Atomics.load(control, fields.epoch);
        if (Atomics.load(control, fields.mail) !== handled) return;
        const { runTiles, abandon } = memories.get(Atomics.load(control, fields.memoryId)) ?? {};
        let isOver = false;
        if (runTiles !== undefined && abandon !== undefined && index < Atomics.load(control, fields.helpers)) {
          let result: number;
          do {
            try {
              result = runTiles(0, spins, 50);
            } catch {
              result = abandon() === results.ended ? results.ended : results.waited;
            }
          } while (result !== results.idle && result !== results.ended);
          if (result === results.ended) {
            post({ ended: true });
            // Leaves the core to the thread that the message wakes.
            isOver = true;
          }
        }
        const until = performance.now() + spinMs;
        while (!isOver && Atomics.load(control, fields.epoch) === seen && performance.now() < until);
        Atomics.wait(control, fields.epoch, seen);
      }
    };
    post({ ready: true });
    return (mail) => {
      handled++;
      try {
        handle(mail, index);
        post({ done: mail.id });
      } catch (error) {
        post({ done: mail.id, error: String(error) });
      }
      work();
    };
  };

  const node = process?.getBuiltinModule?.("node:worker_threads");
  if (node !== undefined) {
    node.parentPort.on(
      "message",
      start(node.workerData, (report) => node.parentPort.postMessage(report)),
    );
    return;
  }
  let onMail: ((mail: WorkerMail) => void) | undefined;
  addEventListener("message", ({ data }: MessageEvent<WorkerStart & WorkerMail>) => {
    if (onMail === undefined) onMail = start(data, (report) => postMessage(report));
    else onMail(data);
  });
}

/** Grows a table to `end` slots. */
export function growTable(table: WebAssembly.Table, end: number): void {
  if (table.length < end) table.grow(end - table.length);
}
