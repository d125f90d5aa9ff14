import { type BatchRows, mayQueue, type RunnablePlan, type RunningBatch, readRows, submit } from "./batch.ts";
import type { DeferredChoices, DeferredPlans } from "./deferredChoices.ts";
import { openDeferred } from "./openDeferred.ts";
import { type InputLayout, RunInputs, type Slice } from "./runInputs.ts";

/** Properties of the runs of a {@link RunQueue}. */
export interface RunQueueOptions extends InputLayout {
  /** Compiles the plans with which texts under a mask are computed ahead. Called at most once, when there is such a text. */
  readonly openDeferred?: () => Promise<DeferredPlans>;
}

/** Receives the outcome of runs. */
export interface RunOutcomes {
  completed(slices: readonly Slice[], rows: BatchRows): void;
  failed(slices: readonly Slice[], error: unknown): void;
  /** Called after each run, when another one may have room. */
  ended(): void;
}

/**
 * The runs that are submitted to the backend, oldest first: those of the model, and those that only choose tokens from logits that were kept.
 * They are read in the order in which they were submitted.
 */
export class RunQueue {
  readonly #plan: RunnablePlan;
  readonly #options: RunQueueOptions;
  readonly #outcomes: RunOutcomes;
  readonly #inputs: RunInputs;
  readonly #running: RunningBatch[] = [];
  #deferred: DeferredChoices | undefined;
  #opening: Promise<void> | undefined;
  #isSettling = false;

  constructor(plan: RunnablePlan, options: RunQueueOptions, outcomes: RunOutcomes) {
    this.#plan = plan;
    this.#options = options;
    this.#outcomes = outcomes;
    this.#inputs = new RunInputs(options);
  }

  /** Maximum number of tokens of a run that keeps logits: 0 until {@link openDeferred} has compiled its plan. */
  get keepingSize(): number {
    return this.#deferred?.batchSize ?? 0;
  }

  /** Whether a choice may be submitted: one at a time, so that sequences whose tokens were chosen in different runs come together again. */
  get mayChoose(): boolean {
    return this.#running.every(({ kind }) => kind !== "choice");
  }

  /** Whether another run of the model may be submitted. Sequences that wait for a choice are about to continue. */
  hasRoom(isChoiceDue: boolean): boolean {
    const runs = this.#running.filter(({ kind }) => kind === "model");
    return runs.length === 0 ? !isChoiceDue : mayQueue(runs, this.#options.runsInFlight);
  }

  /** Opens {@link DeferredChoices}, if the device has runs in flight. Without them, each run waits for its masks. */
  openDeferred(): Promise<void> | undefined {
    if (this.#deferred !== undefined || this.#options.openDeferred === undefined) return undefined;
    this.#opening ??= this.#open(this.#options.openDeferred);
    return this.#opening;
  }

  async #open(openPlans: () => Promise<DeferredPlans>): Promise<void> {
    this.#deferred = await openDeferred(openPlans, this.#options, this.#inputs);
  }

  /** Submits a run, whose outcome is known after {@link settle}. @throws the errors of the plan */
  submit(slices: readonly Slice[]): RunningBatch {
    const run = this.#start(slices);
    this.#running.push(run);
    return run;
  }

  #start(slices: readonly Slice[]): RunningBatch {
    if (this.#deferred !== undefined) {
      if (slices.some(({ request }) => request.keptRow !== undefined)) return this.#deferred.choose(slices);
      if (slices.some(({ request }) => request.isDeferred)) return this.#deferred.submit(slices);
    }
    return submit(this.#plan, slices, this.#inputs);
  }

  /** Reads the submitted runs, one after the other, unless a call before does so. */
  async settle(): Promise<void> {
    if (this.#isSettling) return;
    this.#isSettling = true;
    for (let run = this.#running[0]; run !== undefined; run = this.#running[0]) {
      try {
        const rows = await readRows(run, this.#options.output).finally(() => this.#running.shift());
        this.#outcomes.completed(run.slices, rows);
      } catch (error) {
        this.#outcomes.failed([...run.slices, ...run.kept], error);
      }
      this.#outcomes.ended();
    }
    this.#isSettling = false;
  }

  /** Frees the plans with their weights and cache. */
  dispose(): void {
    this.#deferred?.dispose();
    this.#plan.dispose();
  }
}
