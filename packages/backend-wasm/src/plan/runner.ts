import { DeviceLostError, KernelError } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import type { DeferredStages, Run, Stage, Task } from "../kernel.ts";
import { callsOf, type LinkedModule, type WasmMemory } from "../memory/wasmMemory.ts";
import type { Control, StageRange } from "../threads/control.ts";
import type { ThreadPool } from "../threads/pool.ts";
import { tileSpins } from "../threads/startThreads.ts";
import { stageResult } from "../threads/worker.ts";
import type { EventLoopYield } from "./eventLoopYield.ts";
import { recordWork, type Segment, type StepList, stagesOf, writeStepList } from "./stepList.ts";

/** Time after which a thread at a tile counts as lost. Tiles take a few milliseconds. */
const lostMs = 10_000;

/** What a list runs with. */
export interface RunContext {
  readonly memory: WasmMemory;
  readonly baseModule: LinkedModule;
  /** Undefined: the caller's thread computes. */
  readonly pool: ThreadPool | undefined;
  /** Called when a thread does not respond. */
  readonly onThreadLost: () => void;
  readonly tasks: readonly Task[];
  readonly eventLoop: EventLoopYield;
  /** Called after each step. */
  readonly onStep: (step: number) => void;
}

/** Runs a list on the pool's threads, or on the caller's thread with yields to the event loop. */
export async function runList({ segments }: StepList, run: Run, context: RunContext, signal: AbortSignal | undefined): Promise<void> {
  const { memory, pool, tasks, eventLoop, onStep } = context;
  const pausePoints = new PausePoints(eventLoop, signal);
  signal?.throwIfAborted();
  for (const segment of segments) {
    if (segment.kind === "task") {
      for (const work of elementAt(tasks, segment.step)(run) ?? []) {
        if (typeof work === "function") await runDeferred(work, context, pausePoints, signal);
        else await runStage(work, pausePoints);
      }
      onStep(segment.step);
    } else if (isEmpty(segment.list)) countSteps(segment, segment.list.end, onStep);
    else {
      try {
        if (pool !== undefined) await pool.run(memory, segment.list, signal);
        else await runSliced(context, segment.list, pausePoints);
      } finally {
        countSteps(segment, memory.control.stage, onStep);
      }
    }
    if (pausePoints.isDue) await pausePoints.pause();
  }
}

async function runStage(stage: Stage, pausePoints: PausePoints): Promise<void> {
  if (stage !== undefined) for (const _ of callsOf(stage)) if (pausePoints.isDue) await pausePoints.pause();
  if (pausePoints.isDue) await pausePoints.pause();
}

/** Runs deferred stages on the pool's threads, or on the caller's thread. */
async function runDeferred(
  part: DeferredStages,
  { memory, pool }: RunContext,
  pausePoints: PausePoints,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (pool !== undefined && (await runRecorded(memory, pool, part, signal))) return;
  for (const stage of part()) await runStage(stage, pausePoints);
}

/** Runs stages on the pool's threads from a list of their own. Returns false, and runs nothing, if their calls cannot be recorded. */
export async function runRecorded(memory: WasmMemory, pool: ThreadPool, part: DeferredStages, signal?: AbortSignal): Promise<boolean> {
  const recorded = recordWork(memory, part);
  if (recorded === undefined) return false;
  const { segments, address } = writeStepList(memory.heap, [recorded]);
  try {
    for (const segment of segments) if (segment.kind === "list" && !isEmpty(segment.list)) await pool.run(memory, segment.list, signal);
    signal?.throwIfAborted();
  } finally {
    memory.heap.free(address);
  }
  return true;
}

/** Runs a list without pausing on the caller's thread, and on all but one thread of the pool. */
export function runListSync({ segments }: StepList, run: Run, context: RunContext): void {
  const { tasks, onStep } = context;
  for (const segment of segments) {
    if (segment.kind === "task") {
      for (const stage of stagesOf(elementAt(tasks, segment.step)(run) ?? [])) if (stage !== undefined) for (const _ of callsOf(stage));
      onStep(segment.step);
    } else {
      if (!isEmpty(segment.list)) runWithinCall(context, segment.list);
      countSteps(segment, segment.list.end, onStep);
    }
  }
}

/** Pauses a run for the event loop, or ends it after an abort. */
class PausePoints {
  readonly #eventLoop: EventLoopYield;
  readonly #signal: AbortSignal | undefined;

  constructor(eventLoop: EventLoopYield, signal: AbortSignal | undefined) {
    this.#eventLoop = eventLoop;
    this.#signal = signal;
  }

  get isDue(): boolean {
    return this.#signal?.aborted === true || this.#eventLoop.isDue;
  }

  async pause(): Promise<void> {
    this.#signal?.throwIfAborted();
    await this.#eventLoop.yield();
    this.#signal?.throwIfAborted();
  }
}

function isEmpty({ first, end }: StageRange): boolean {
  return first === end;
}

function countSteps({ stages }: Segment & { readonly kind: "list" }, reached: number, onStep: (step: number) => void): void {
  for (const { step, end } of stages) if (end <= reached) onStep(step);
}

async function runSliced(context: RunContext, list: StageRange, pausePoints: PausePoints): Promise<void> {
  const run = new CallerRun(context, list);
  try {
    while (run.next(1, 0, 0)) if (pausePoints.isDue) await pausePoints.pause();
  } finally {
    run.cancel();
  }
}

function runWithinCall(context: RunContext, list: StageRange): void {
  const { memory, pool } = context;
  const run = new CallerRun(context, list);
  if (pool !== undefined && pool.size > 1) pool.wake(memory, pool.size - 1);
  while (run.next(0, tileSpins, mayWait ? 50 : 0));
}

/** A list that the caller's thread runs, with the threads of the context's pool or alone. */
class CallerRun {
  readonly #control: Control;
  readonly #context: RunContext;
  #trap = "a kernel trapped";
  #progress = "";
  #since = 0;

  constructor(context: RunContext, list: StageRange) {
    this.#context = context;
    this.#control = context.memory.control;
    // Threads of the pool may still be looking for tiles of the last list, and lack the functions of one that was not shared with them.
    this.#control.begin(list, context.pool === undefined ? context.memory.maxThreads - 1 : 0);
  }

  /**
   * Runs up to `budget` tiles (0: all). Returns false when the list is done.
   * @throws {KernelError} if a tile trapped
   * @throws {DeviceLostError} if another thread does not finish its tile for seconds
   */
  next(budget: number, spins: number, patience: number): boolean {
    const { baseModule } = this.#context;
    let result: number;
    try {
      result = baseModule.direct("runTiles")(budget, spins, patience);
    } catch (error) {
      this.#trap = error instanceof Error ? error.message : String(error);
      result = baseModule.direct("abandon")() === stageResult.ended ? stageResult.ended : stageResult.waited;
    }
    if (result === stageResult.waited) this.#watch();
    if (result !== stageResult.idle && result !== stageResult.ended) return true;
    if (this.#control.isFailed) throw new KernelError("wasm", "", this.#trap);
    return false;
  }

  /** Ends the list if it is not done. */
  cancel(): void {
    if (!this.#control.isRunning) return;
    this.#control.cancel();
    while (this.next(0, 0, 0));
  }

  #watch(): void {
    const now = performance.now();
    const { progress } = this.#control;
    if (progress !== this.#progress) [this.#progress, this.#since] = [progress, now];
    else if (now - this.#since > lostMs) {
      this.#context.onThreadLost();
      this.#control.clear();
      throw new DeviceLostError("wasm", "a thread ended in the middle of a run");
    }
  }
}

/** Whether this thread may sleep. The main thread of a page may not. */
const mayWait = typeof document === "undefined";
