import { type Binding, type Lowered, resolveSpec, type Storage } from "@centella/core";
import type { Run, Task } from "./kernel.ts";
import type { Space } from "./space.ts";
import { recordStep, type StepList, writeStepList } from "./stepList.ts";

/** Step lists that a plan keeps, for different extents or places of its inputs. */
const mostLists = 16;

/** Flops and bytes of a run that is too short to be worth another thread: about 0.1 ms, and waking one takes a third of that. */
const shortWork = 2e6;

/** A run with the addresses of inputs that are tensors of this backend. */
export interface PlacedRun extends Run {
  readonly overrides: ReadonlyMap<Storage, number>;
}

/** A step list and how much work it is. */
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

  constructor(space: Space, lowered: Lowered, tasks: readonly Task[]) {
    this.#space = space;
    this.#lowered = lowered;
    this.#tasks = tasks;
  }

  /** The step list for a run's extents and addresses, recorded if it is new. */
  of(dims: Binding["dims"], run: PlacedRun): PlannedRun {
    const addresses = [...run.overrides].map(([{ id }, address]) => [id, address]);
    const key = JSON.stringify([Object.entries(dims), addresses]);
    const found = this.#kept.get(key);
    this.#kept.delete(key);
    const planned = found ?? this.#record(dims, run);
    this.#kept.set(key, planned);
    if (this.#kept.size > mostLists) {
      const [oldest, { list }] = this.#kept.entries().next().value!;
      this.#space.heap.free(list.address);
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
    return { list: writeStepList(this.#space.heap, steps), isShort: work <= shortWork };
  }
}
