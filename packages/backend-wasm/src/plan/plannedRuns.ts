import { type Binding, type Lowered, resolveSpec, type Storage } from "@centella/core/backend";
import type { Run, Task } from "../kernel.ts";
import type { WasmMemory } from "../memory/wasmMemory.ts";
import { ThreadChoice } from "../threads/threadChoice.ts";
import type { EventLoopYield } from "./eventLoopYield.ts";
import { lastOf, type RecordedStep, recordStep, type StepList, writeSteps } from "./stepList.ts";

/** Step lists that a plan keeps, for different extents or places of its inputs and outputs: so many at least, and so many bytes. */
const minKeptLists = 16;
const keptBytes = 2 ** 20;

/** So many steps are recorded within a call. */
const maxStepsAtOnce = 16;

/** Flops and bytes of a millisecond on one thread, about. */
const workPerMs = 3e7;

/**
 * How long a run may be, in ms, to be computed on the caller's thread: waking another takes a twentieth of a millisecond. Where several
 * share the work that pays from there on for large tensors, and not for many small ones: what is faster is measured. A single one only
 * frees the caller's.
 */
const shortMs = { shared: 0.07, alone: 1 } as const;
/** How long a run is, in ms, that is better shared whatever its steps are. */
const longMs = 3;
/** Extents for which is kept what is faster. */
const maxChoices = 64;

/** A run with the addresses of inputs that are tensors of this backend, and of outputs that are computed in theirs. */
export interface PlacedRun extends Run {
  readonly overrides: ReadonlyMap<Storage, number>;
}

/** A step list, and about how long it takes on one thread. */
interface Variant {
  readonly list: StepList;
  readonly ms: number;
}

/** The step lists of a plan: recorded when extents or addresses are new, kept as long as they are used. */
export class PlannedRuns {
  readonly #memory: WasmMemory;
  readonly #lowered: Lowered;
  readonly #tasks: readonly Task[];
  /** Steps that cannot be recorded. */
  readonly #hostSteps = new Set<number>();
  /** By extents and addresses, the one that was used last at the end. */
  readonly #kept = new Map<string, Variant>();
  #keptBytes = 0;
  #areShort = false;
  /** By extents, of runs that are awaited and of those that are not. */
  readonly #choices = new Map<string, ThreadChoice>();

  constructor(memory: WasmMemory, lowered: Lowered, tasks: readonly Task[]) {
    this.#memory = memory;
    this.#lowered = lowered;
    this.#tasks = tasks;
  }

  /** Whether runs are, as the last one was, shorter than it takes to queue them, for other addresses too: of few steps and fixed extents. */
  get areShort(): boolean {
    return this.#areShort;
  }

  /** Whether there is one thread at most beside the caller's: those of a pool have threadScratch, and the caller's has one. */
  get #isAlone(): boolean {
    return this.#memory.maxThreads <= 2;
  }

  get #shortMs(): number {
    return this.#isAlone ? shortMs.alone : shortMs.shared;
  }

  /** The step list for a run's extents and addresses, recorded if it is new. */
  of(dims: Binding["dims"], run: PlacedRun): Variant {
    const key = keyOf(dims, run);
    const found = this.#find(key);
    if (found !== undefined) return found;
    return this.#keep(key, lastOf(this.#record(dims, run)));
  }

  /** {@link of} with eventLoop for the event loop: what hundreds of steps do for new extents takes tens of milliseconds to record. */
  async yielding(dims: Binding["dims"], run: PlacedRun, eventLoop: EventLoopYield, signal: AbortSignal | undefined): Promise<Variant> {
    const key = keyOf(dims, run);
    const found = this.#find(key);
    if (found !== undefined) return found;
    const recording = this.#record(dims, run);
    for (;;) {
      const { done, value } = recording.next();
      if (done === true) return this.#keep(key, value);
      if (!eventLoop.isDue) continue;
      await eventLoop.yield();
      if (signal?.aborted !== true) continue;
      recording.return(undefined as never);
      signal.throwIfAborted();
    }
  }

  #find(key: string): Variant | undefined {
    const found = this.#kept.get(key);
    if (found === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, found);
    return found;
  }

  #keep(key: string, planned: Variant): Variant {
    this.#kept.set(key, planned);
    this.#areShort = planned.ms <= this.#shortMs && this.#tasks.length <= maxStepsAtOnce && this.#lowered.program.dims.size === 0;
    this.#keptBytes += planned.list.bytes;
    while (this.#kept.size > minKeptLists && this.#keptBytes > keptBytes) {
      const [oldest, { list }] = this.#kept.entries().next().value!;
      this.#memory.heap.free(list.address);
      this.#keptBytes -= list.bytes;
      this.#kept.delete(oldest);
    }
    return planned;
  }

  /**
   * Whether a run is better computed by the pool's threads, and whom to tell how long it took.
   */
  choose(dims: Binding["dims"], { ms }: Variant, isSync: boolean): { readonly isShared: boolean; record?(ms: number): void } {
    if (this.#isAlone) return { isShared: ms > shortMs.alone };
    if (ms <= shortMs.shared || ms > longMs) return { isShared: ms > longMs };
    let key = isSync ? "sync " : "";
    for (const name in dims) key += `${name}=${dims[name]} `;
    const choice = this.#choices.get(key) ?? new ThreadChoice();
    this.#choices.delete(key);
    this.#choices.set(key, choice);
    if (this.#choices.size > maxChoices) this.#choices.delete(this.#choices.keys().next().value!);
    const isShared = choice.next();
    return { isShared, record: (time) => choice.record(isShared, time) };
  }

  free(): void {
    for (const { list } of this.#kept.values()) this.#memory.heap.free(list.address);
  }

  /** Yields after each step. */
  *#record(dims: Binding["dims"], run: Run): Generator<undefined, Variant> {
    let work = 0;
    const steps: RecordedStep[] = [];
    for (const [index, task] of this.#tasks.entries()) {
      const { op, inputs, params, output } = this.#lowered.steps[index]!;
      const specs = inputs.map((operand) => operand && resolveSpec(operand.spec, dims));
      const { flops, bytes } = op.cost(specs, params, resolveSpec(output.spec, dims));
      work += flops + bytes;
      const recorded = this.#hostSteps.has(index) ? undefined : recordStep(this.#memory, task, run);
      if (recorded === undefined) this.#hostSteps.add(index);
      steps.push(recorded);
      yield;
    }
    return { list: yield* writeSteps(this.#memory.heap, steps), ms: work / workPerMs };
  }
}

function keyOf(dims: Binding["dims"], { overrides }: PlacedRun): string {
  let key = "";
  for (const name in dims) key += `${name}=${dims[name]} `;
  for (const [{ id }, address] of overrides) key += `${id}@${address} `;
  return key;
}
