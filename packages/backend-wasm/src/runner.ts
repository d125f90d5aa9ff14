import { DeviceLostError, KernelError } from "@centella/core";
import type { Turns } from "./eventLoop.ts";
import type { Run, Task } from "./kernel.ts";
import { callsOf, type Library, type Space } from "./space.ts";
import type { Segment, StepList } from "./stepList.ts";
import { Control, type StageRange } from "./threads/control.ts";
import { type ThreadPool, walkSpins } from "./threads/pool.ts";
import { walkResult } from "./threads/walk.ts";

/** How long a tile may take before its thread counts as lost: tiles are a few milliseconds long. */
const lostMs = 10_000;

/** What a list is run with. */
export interface RunContext {
  readonly space: Space;
  readonly library: Library;
  /** Undefined: the caller's thread computes. */
  readonly pool: ThreadPool | undefined;
  readonly tasks: readonly Task[];
  readonly turns: Turns;
  /** Told of each step that is done. */
  readonly onStep: (step: number) => void;
}

/** Runs a list on the pool's threads, or on the caller's with turns for the event loop in between. */
export async function runList({ segments }: StepList, run: Run, context: RunContext, signal: AbortSignal | undefined): Promise<void> {
  const { space, pool, tasks, turns, onStep } = context;
  const pacer = new Pacer(turns, signal);
  signal?.throwIfAborted();
  for (const segment of segments) {
    if (segment.kind === "task") {
      for (const pause of tasks[segment.step]!(run) ?? []) {
        if (pause !== undefined) for (const _ of callsOf(pause)) if (pacer.isDue) await pacer.pause();
        if (pacer.isDue) await pacer.pause();
      }
      onStep(segment.step);
    } else if (isEmpty(segment.list)) countSteps(segment, segment.list.end, onStep);
    else {
      const control = new Control(space.heap.memory);
      try {
        if (pool !== undefined) await pool.run(space, segment.list, signal);
        else await walkSliced(context, control, segment.list, pacer);
      } finally {
        countSteps(segment, control.stage, onStep);
      }
    }
    if (pacer.isDue) await pacer.pause();
  }
}

/** Runs a list in one go on the caller's thread, and on the pool's that the caller's leaves a core for. */
export function runListSync({ segments }: StepList, run: Run, context: RunContext): void {
  const { tasks, onStep } = context;
  for (const segment of segments) {
    if (segment.kind === "task") {
      for (const pause of tasks[segment.step]!(run) ?? []) if (pause !== undefined) for (const _ of callsOf(pause));
      onStep(segment.step);
    } else {
      if (!isEmpty(segment.list)) walkSync(context, segment.list);
      countSteps(segment, segment.list.end, onStep);
    }
  }
}

/** When a run pauses: for the event loop, or for good. */
class Pacer {
  readonly #turns: Turns;
  readonly #signal: AbortSignal | undefined;

  constructor(turns: Turns, signal: AbortSignal | undefined) {
    this.#turns = turns;
    this.#signal = signal;
  }

  get isDue(): boolean {
    return this.#signal?.aborted === true || this.#turns.isDue;
  }

  async pause(): Promise<void> {
    this.#signal?.throwIfAborted();
    await this.#turns.give();
    this.#signal?.throwIfAborted();
  }
}

function isEmpty({ first, end }: StageRange): boolean {
  return first === end;
}

function countSteps({ stages }: Segment & { readonly kind: "list" }, reached: number, onStep: (step: number) => void): void {
  for (const { step, end } of stages) if (end <= reached) onStep(step);
}

async function walkSliced({ library }: RunContext, control: Control, list: StageRange, pacer: Pacer): Promise<void> {
  const walk = library.direct("walk");
  control.begin(list);
  try {
    while (walk(1, 0, 0) === walkResult.budget) if (pacer.isDue) await pacer.pause();
  } catch (error) {
    control.clear();
    throw asKernelError(error);
  }
}

function walkSync({ space, library, pool }: RunContext, list: StageRange): void {
  const control = new Control(space.heap.memory);
  const walk = library.direct("walk");
  const helpers = pool === undefined ? 0 : pool.size - 1;
  control.begin(list);
  if (helpers > 0) pool!.wake(space, helpers);
  let [progress, since] = ["", 0];
  for (;;) {
    let result: number;
    try {
      result = walk(0, walkSpins, mayWait ? 50 : 0);
    } catch (error) {
      if (helpers === 0) {
        control.clear();
        throw asKernelError(error);
      }
      result = library.direct("abandon")();
    }
    if (result === walkResult.idle || result === walkResult.ended) break;
    const now = performance.now();
    if (control.progress !== progress) [progress, since] = [control.progress, now];
    else if (now - since > lostMs) {
      pool?.dispose();
      control.clear();
      throw new DeviceLostError("wasm", "a thread ended in the middle of a run");
    }
  }
  if (control.isFailed) throw new KernelError("wasm", "", "a kernel trapped");
}

/** Whether this thread may sleep: the main thread of a page may not. */
const mayWait = typeof document === "undefined";

function asKernelError(error: unknown): unknown {
  return error instanceof WebAssembly.RuntimeError ? new KernelError("wasm", "", error.message) : error;
}
