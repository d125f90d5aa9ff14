import { DeviceLostError } from "@centella/core";
import { openBackend } from "./backend.ts";
import { i32 } from "./emit/index.ts";
import type { Emitted, Run, Task } from "./kernel.ts";
import { PlanLinker } from "./linking/planLinker.ts";
import { checkedOptions } from "./options.ts";
import { EventLoopYield } from "./plan/eventLoopYield.ts";
import { runListSync } from "./plan/runner.ts";
import { recordStep, type StepList, writeStepList } from "./plan/stepList.ts";
import type { StageRange } from "./threads/control.ts";
import { median } from "./threads/threadChoice.ts";

/** Stages of a list. With this many, waking the threads does not count. */
const stages = 5000;
/** Iterations of a tile: some µs, so that both threads are awake when a stage opens. */
const turns = 4000;
/** Lists of each kind per measurement. */
const lists = 5;

/** Measures the cost of fork and join on two threads that are awake. */
export interface ForkJoin {
  /**
   * Seconds that a stage with two tiles on two threads takes longer than a stage with one tile on the caller's thread:
   * medians of interleaved lists.
   */
  seconds(): Promise<number>;
  dispose(): Promise<void>;
}

/**
 * Opens a pool of two threads for {@link ForkJoin}.
 * @throws {UnsupportedError} without shared memory
 */
export async function openForkJoin(): Promise<ForkJoin> {
  const backend = await openBackend(checkedOptions({ threads: 2 }));
  const { memory } = backend.instance;
  const module = new PlanLinker(memory, backend.target, backend.pool);
  const work = module.emit("work", (builder, name) => {
    builder.function(name, { at: "i32", turns: "i32" }, (f, { at, turns: left }) => {
      const x = f.let(i32.const(1));
      f.while(left, () => {
        f.set(x, i32.mul(x, 0x41c64e6d));
        f.advance(left, -1);
      });
      // Unused results would not be computed.
      f.if(i32.eqz(x), () => f.store(at, x));
    });
  });
  await Promise.all([backend.instance.share(), module.share()]);
  const [alone, shared] = [1, 2].map((tiles) => writeStepList(memory.heap, [recordStep(memory, taskOf(work, tiles), noRun)])) as [
    StepList,
    StepList,
  ];
  const { list } = shared.segments[0] as { readonly list: StageRange };
  const context = {
    memory,
    baseModule: backend.instance.baseModule,
    pool: undefined,
    tasks: [],
    eventLoop: new EventLoopYield(),
    onThreadLost: () => undefined,
    onStep: () => undefined,
  };
  const timed = async (run: () => Promise<void> | void): Promise<number> => {
    const start = performance.now();
    await run();
    return (performance.now() - start) / 1e3 / stages;
  };
  return {
    async seconds() {
      const times: { readonly one: number; readonly two: number }[] = [];
      for (let i = 0; i < lists; i++) {
        const one = await timed(() => runListSync(alone, noRun, context));
        const { pool } = backend;
        if (pool === undefined) throw new DeviceLostError("wasm", "a thread has ended");
        times.push({ one, two: await timed(() => pool.run(memory, list, undefined)) });
      }
      return median(times.map(({ two }) => two)) - median(times.map(({ one }) => one));
    },
    async dispose() {
      for (const { address } of [alone, shared]) memory.heap.free(address);
      module.dispose();
      await backend.dispose();
    },
  };
}

const noRun: Run = { address: () => 0, shape: () => [], scratch: 0 };

/** A task of stages with this many tiles. */
function taskOf(work: Emitted, tiles: number): Task {
  return function* () {
    for (let i = 0; i < stages; i++) yield Array.from({ length: tiles }, () => ({ fn: work, args: [64, turns] }));
  };
}
