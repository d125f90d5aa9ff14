import { DeviceLostError, KernelError } from "@centella/core";
import type { Part, Pause, Run, Task } from "../kernel.ts";
import { callsOf, type Library, type Space } from "../memory/space.ts";
import type { Control, StageRange } from "../threads/control.ts";
import { type ThreadPool, walkSpins } from "../threads/pool.ts";
import { walkResult } from "../threads/walk.ts";
import type { Turns } from "./eventLoop.ts";
import { pausesOf, recordWork, type Segment, type StepList, writeStepList } from "./stepList.ts";

/** How long a tile may take before its thread counts as lost: tiles are a few milliseconds long. */
const lostMs = 10_000;

/** What a list is run with. */
export interface RunContext {
  readonly space: Space;
  readonly library: Library;
  /** Undefined: the caller's thread computes. */
  readonly pool: ThreadPool | undefined;
  /** Told that a thread does not answer. */
  readonly lose: () => void;
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
      for (const work of tasks[segment.step]!(run) ?? []) {
        if (typeof work === "function") await runPart(work, context, pacer, signal);
        else await runPause(work, pacer);
      }
      onStep(segment.step);
    } else if (isEmpty(segment.list)) countSteps(segment, segment.list.end, onStep);
    else {
      try {
        if (pool !== undefined) await pool.run(space, segment.list, signal);
        else await walkSliced(context, segment.list, pacer);
      } finally {
        countSteps(segment, space.control.stage, onStep);
      }
    }
    if (pacer.isDue) await pacer.pause();
  }
}

async function runPause(pause: Pause, pacer: Pacer): Promise<void> {
  if (pause !== undefined) for (const _ of callsOf(pause)) if (pacer.isDue) await pacer.pause();
  if (pacer.isDue) await pacer.pause();
}

/** Runs a part of a step on the pool's threads from a list of its own, or here. */
async function runPart(part: Part, { space, pool }: RunContext, pacer: Pacer, signal: AbortSignal | undefined): Promise<void> {
  const recorded = pool && recordWork(space, part);
  if (pool === undefined || recorded === undefined) {
    for (const pause of part()) await runPause(pause, pacer);
    return;
  }
  const { segments, address } = writeStepList(space.heap, [recorded]);
  try {
    for (const segment of segments) if (segment.kind === "list" && !isEmpty(segment.list)) await pool.run(space, segment.list, signal);
    signal?.throwIfAborted();
  } finally {
    space.heap.free(address);
  }
}

/** Runs a list in one go on the caller's thread, and on the pool's that the caller's leaves a core for. */
export function runListSync({ segments }: StepList, run: Run, context: RunContext): void {
  const { tasks, onStep } = context;
  for (const segment of segments) {
    if (segment.kind === "task") {
      for (const pause of pausesOf(tasks[segment.step]!(run) ?? [])) if (pause !== undefined) for (const _ of callsOf(pause));
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

async function walkSliced(context: RunContext, list: StageRange, pacer: Pacer): Promise<void> {
  const walker = new Walker(context, list);
  try {
    while (walker.walk(1, fewSpins, 0)) if (pacer.isDue || walker.isWaiting) await pacer.pause();
  } finally {
    await walker.end(context.turns);
  }
}

function walkSync(context: RunContext, list: StageRange): void {
  const { space, pool } = context;
  const walker = new Walker(context, list);
  const helpers = pool === undefined ? 0 : pool.size - 1;
  if (helpers > 0) pool!.wake(space, helpers);
  while (walker.walk(0, walkSpins, mayWait ? 50 : 0));
}

/** Polls for a tile that another thread has, before the event loop gets its turn. */
const fewSpins = 1000;

/** A list that is walked on the caller's thread. Threads of the pool that have not left the last list yet may help. */
class Walker {
  readonly #control: Control;
  readonly #context: RunContext;
  #trap = "a kernel trapped";
  #progress = "";
  #since = 0;
  #isWaiting = false;

  constructor(context: RunContext, list: StageRange) {
    this.#context = context;
    this.#control = context.space.control;
    this.#control.begin(list);
  }

  /** Whether there was no tile left to take, and others are not done with theirs. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /**
   * Takes up to so many tiles (0: all); false when the list is done.
   * @throws {KernelError} if a tile trapped
   * @throws {DeviceLostError} if a thread is not done with one after seconds
   */
  walk(budget: number, spins: number, patience: number): boolean {
    const { library } = this.#context;
    let result: number;
    try {
      result = library.direct("walk")(budget, spins, patience);
    } catch (error) {
      this.#trap = error instanceof Error ? error.message : String(error);
      result = library.direct("abandon")() === walkResult.ended ? walkResult.ended : walkResult.waited;
    }
    this.#isWaiting = result === walkResult.waited;
    if (this.#isWaiting) this.#watch();
    if (result !== walkResult.idle && result !== walkResult.ended) return true;
    if (this.#control.isFailed) throw new KernelError("wasm", "", this.#trap);
    return false;
  }

  /** Ends the list with the tiles that others have. */
  async end(turns: Turns): Promise<void> {
    if (!this.#control.isRunning) return;
    this.#control.cancel();
    while (this.walk(0, fewSpins, 0)) await turns.give();
  }

  #watch(): void {
    const now = performance.now();
    const { progress } = this.#control;
    if (progress !== this.#progress) [this.#progress, this.#since] = [progress, now];
    else if (now - this.#since > lostMs) {
      this.#context.lose();
      this.#control.clear();
      throw new DeviceLostError("wasm", "a thread ended in the middle of a run");
    }
  }
}

/** Whether this thread may sleep: the main thread of a page may not. */
const mayWait = typeof document === "undefined";
