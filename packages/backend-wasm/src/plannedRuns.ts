import { type Binding, type Lowered, resolveSpec, type Storage } from "@centella/core";
import type { Run, Task } from "./kernel.ts";
import type { Space } from "./space.ts";
import { recordStep, type StepList, writeStepList } from "./stepList.ts";

/** Step lists that a plan keeps, for different extents or places of its inputs and outputs: so many at least, and so many bytes. */
const fewLists = 16;
const keptBytes = 2 ** 20;

/** Flops and bytes of a millisecond on one thread, about. */
const workPerMs = 3e7;

/**
 * How long a run may be, in ms, to be computed on the caller's thread: waking another takes a twentieth, which pays where several share
 * the work, and else only frees the caller's.
 */
const shortMs = { shared: 0.07, alone: 1 } as const;

/** A run with the addresses of inputs that are tensors of this backend, and of outputs that are computed in theirs. */
export interface PlacedRun extends Run {
  readonly overrides: ReadonlyMap<Storage, number>;
}

/** A step list, and whether it is too little work for other threads. */
interface PlannedRun {
  readonly list: StepList;
  readonly isShort: boolean;
}

/** The step lists of a plan: recorded when extents or addresses are new, kept as long as they are used. */
export class PlannedRuns {
  readonly #space: Space;
  readonly #lowered: Lowered;
  readonly #tasks: readonly Task[];
  /** Steps that cannot be recorded. */
  readonly #hostSteps = new Set<number>();
  /** By extents and addresses, the one that was used last at the end. */
  readonly #kept = new Map<string, PlannedRun>();
  #keptBytes = 0;

  constructor(space: Space, lowered: Lowered, tasks: readonly Task[]) {
    this.#space = space;
    this.#lowered = lowered;
    this.#tasks = tasks;
  }

  /** The step list for a run's extents and addresses, recorded if it is new. */
  of(dims: Binding["dims"], run: PlacedRun): PlannedRun {
    let key = "";
    for (const name in dims) key += `${name}=${dims[name]} `;
    for (const [{ id }, address] of run.overrides) key += `${id}@${address} `;
    const found = this.#kept.get(key);
    this.#kept.delete(key);
    const planned = found ?? this.#record(dims, run);
    this.#kept.set(key, planned);
    if (found === undefined) this.#keptBytes += planned.list.bytes;
    while (this.#kept.size > fewLists && this.#keptBytes > keptBytes) {
      const [oldest, { list }] = this.#kept.entries().next().value!;
      this.#space.heap.free(list.address);
      this.#keptBytes -= list.bytes;
      this.#kept.delete(oldest);
    }
    return planned;
  }

  free(): void {
    for (const { list } of this.#kept.values()) this.#space.heap.free(list.address);
  }

  #record(dims: Binding["dims"], run: Run): PlannedRun {
    let work = 0;
    const steps = this.#tasks.map((task, index) => {
      const { op, inputs, params, output } = this.#lowered.steps[index]!;
      const specs = inputs.map((operand) => operand && resolveSpec(operand.spec, dims));
      const { flops, bytes } = op.cost(specs, params, resolveSpec(output.spec, dims));
      work += flops + bytes;
      const recorded = this.#hostSteps.has(index) ? undefined : recordStep(this.#space, task, run);
      if (recorded === undefined) this.#hostSteps.add(index);
      return recorded;
    });
    // A pool's threads and the caller's have rooms.
    const limit = this.#space.rooms > 2 ? shortMs.shared : shortMs.alone;
    return { list: writeStepList(this.#space.heap, steps), isShort: work <= limit * workPerMs };
  }
}
