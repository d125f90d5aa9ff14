import type { DimValues } from "@centella/core";
import { type Lowered, LruCache, resolveSpec, type Storage } from "@centella/core/backend";
import type { Run, Task } from "../kernel.ts";
import type { MemoryInstance } from "../memory/memoryInstance.ts";
import type { WasmMemory } from "../memory/wasmMemory.ts";
import { ThreadChoice } from "../threads/threadChoice.ts";
import type { EventLoopYield } from "./eventLoopYield.ts";
import { lastOf, type RecordedStep, recordStep, type StepList, writeSteps } from "./stepList.ts";

/** A plan keeps up to this many step lists, and more while they take less than {@link keptBytes}. */
const minKeptLists = 16;
const keptBytes = 2 ** 20;

/** Up to this many steps are recorded within a call. */
const maxStepsAtOnce = 16;

/** Flops and bytes of a millisecond on one thread, about. */
const workPerMs = 3e7;

/**
 * Longest run, in ms, that is computed on the caller's thread: waking another takes a twentieth of a millisecond. With several threads,
 * sharing a longer run pays for large tensors and not for many small ones, so it is measured which is faster. A single other thread
 * only frees the caller's.
 */
const shortMs = { shared: 0.07, alone: 1 } as const;
/** Shortest run, in ms, that is faster on all threads whatever its steps are. */
const longMs = 3;
/** Number of extents for which a plan remembers what is faster. */
const maxChoices = 64;

/** A run with the addresses of inputs that are tensors of this backend, and of outputs that are computed in place. */
export interface PlacedRun extends Run {
  readonly overrides: ReadonlyMap<Storage, number>;
}

/** The plan for given extents and addresses: a step list, and about how long it takes on one thread. */
interface Variant {
  readonly list: StepList;
  readonly ms: number;
}

/** Where a run is computed. `record` takes how long it took, in ms, where that decides about later runs. */
interface Choice {
  /** Whether the pool's threads compute it. */
  readonly isShared: boolean;
  record?(ms: number): void;
}

/** The variants of a plan: recorded when extents or addresses are new, kept as long as they are used. */
export class PlanVariants {
  readonly #instance: MemoryInstance;
  readonly #memory: WasmMemory;
  readonly #lowered: Lowered;
  readonly #tasks: readonly Task[];
  /** Steps that cannot be recorded. */
  readonly #hostSteps = new Set<number>();
  /** By extents and addresses. Bounded by their bytes. */
  readonly #variants = new LruCache<Variant>(Infinity);
  #bytes = 0;
  #areShort = false;
  /** By extents, of runs that are awaited and of those that are not. */
  readonly #choices = new LruCache<ThreadChoice>(maxChoices);

  constructor(instance: MemoryInstance, lowered: Lowered, tasks: readonly Task[]) {
    this.#instance = instance;
    this.#memory = instance.memory;
    this.#lowered = lowered;
    this.#tasks = tasks;
  }

  /** Whether runs take less time than queueing them, as the last one did. Only for few steps and fixed extents. */
  get areShort(): boolean {
    return this.#areShort;
  }

  /** Whether there is at most one thread besides the caller's, which counts as one. */
  get #isAlone(): boolean {
    return this.#memory.maxThreads <= 2;
  }

  /** Returns the variant for a run's extents and addresses, recorded if it is new. */
  of(dims: DimValues, run: PlacedRun): Variant {
    const key = keyOf(dims, run);
    return this.#variants.get(key) ?? this.#keep(key, lastOf(this.#record(dims, run)));
  }

  /** {@link of} that yields to the event loop: recording hundreds of steps for new extents takes tens of milliseconds. */
  async yielding(dims: DimValues, run: PlacedRun, eventLoop: EventLoopYield, signal: AbortSignal | undefined): Promise<Variant> {
    const key = keyOf(dims, run);
    const found = this.#variants.get(key);
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

  /** Decides where a run is computed. */
  choose(dims: DimValues, { ms }: Variant, isSync: boolean): Choice {
    if (this.#isAlone) return { isShared: ms > shortMs.alone };
    if (ms <= shortMs.shared || ms > longMs) return { isShared: ms > longMs };
    let key = isSync ? "sync " : "";
    for (const name in dims) key += `${name}=${dims[name]} `;
    const choice = this.#choices.get(key) ?? new ThreadChoice();
    this.#choices.set(key, choice);
    const isShared = choice.next();
    return { isShared, record: (time) => choice.record(isShared, time) };
  }

  free(): void {
    for (const { list } of this.#variants.values()) this.#memory.heap.free(list.address);
  }

  #keep(key: string, variant: Variant): Variant {
    const longest = this.#isAlone ? shortMs.alone : shortMs.shared;
    this.#areShort = variant.ms <= longest && this.#tasks.length <= maxStepsAtOnce && this.#lowered.program.dims.size === 0;
    this.#variants.set(key, variant);
    this.#bytes += variant.list.bytes;
    while (this.#variants.size > minKeptLists && this.#bytes > keptBytes) {
      const oldest = this.#variants.evict();
      if (oldest === undefined) break;
      this.#memory.heap.free(oldest.list.address);
      this.#bytes -= oldest.list.bytes;
    }
    return variant;
  }

  /** Yields after each step. */
  *#record(dims: DimValues, run: Run): Generator<undefined, Variant> {
    let work = 0;
    const recorded: RecordedStep[] = [];
    for (const [index, { op, inputs, params, output }] of this.#lowered.steps.entries()) {
      const specs = inputs.map((operand) => operand && resolveSpec(operand.spec, dims));
      const { flops, bytes } = op.cost(specs, params, resolveSpec(output.spec, dims));
      work += flops + bytes;
      const task = this.#tasks[index];
      const step = task === undefined || this.#hostSteps.has(index) ? undefined : recordStep(this.#memory, task, run);
      if (step === undefined) this.#hostSteps.add(index);
      recorded.push(step);
      yield;
    }
    this.#instance.build();
    return { list: yield* writeSteps(this.#memory.heap, recorded), ms: work / workPerMs };
  }
}

function keyOf(dims: DimValues, { overrides }: PlacedRun): string {
  let key = "";
  for (const name in dims) key += `${name}=${dims[name]} `;
  for (const [{ id }, address] of overrides) key += `${id}@${address} `;
  return key;
}
