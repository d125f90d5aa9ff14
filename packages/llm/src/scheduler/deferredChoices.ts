import type { RunnablePlan, RunningBatch } from "./batch.ts";
import type { Request } from "./request.ts";
import type { RunInputs, Slice } from "./runInputs.ts";

/** The plans of {@link DeferredChoices}, over the weights and the cache of the scheduler's own plan. */
export interface DeferredPlans {
  /** The model, which keeps the logits of some rows. */
  readonly model: RunnablePlan;
  /** Chooses tokens from kept logits. */
  readonly choose: RunnablePlan;
  /** Maximum number of tokens in a run of the model. */
  readonly batchSize: number;
  /** Number of rows that can be kept. */
  readonly sequences: number;
}

/**
 * Runs of texts under a mask, which the host computes from the token before. A request made ahead is computed while the host still waits for
 * its token, and its logits stay on the device. Once the mask is known, a short run chooses the token that follows.
 */
export class DeferredChoices {
  readonly batchSize: number;
  readonly #plans: DeferredPlans;
  readonly #inputs: RunInputs;
  readonly #choices: RunInputs;
  /** The request that each row of the kept logits belongs to. */
  readonly #rows: (Request | undefined)[];

  /** `inputs` are those of a program that keeps logits, and `choices` those of one that chooses the tokens of all rows. */
  constructor(plans: DeferredPlans, inputs: RunInputs, choices: RunInputs) {
    this.batchSize = plans.batchSize;
    this.#plans = plans;
    this.#inputs = inputs;
    this.#choices = choices;
    this.#rows = new Array(plans.sequences).fill(undefined);
  }

  /** Submits a run that keeps the logits of requests whose choice is deferred. */
  submit(slices: readonly Slice[]): RunningBatch {
    const kept = slices.filter(({ request }) => request.isDeferred);
    for (const { request } of kept) request.keptRow = this.#takeRow(request);
    const { data, dims } = this.#inputs.fill(slices);
    const own = slices.filter(({ request }) => !request.isDeferred);
    return { kind: "model", slices: own, kept, outputs: this.#plans.model.run(data, { dims }) };
  }

  /** Submits a run that chooses the tokens after requests whose logits are kept. */
  choose(slices: readonly Slice[]): RunningBatch {
    const data = this.#choices.fill(slices).data as Required<ReturnType<RunInputs["fill"]>["data"]>;
    const { chosenBlocks, seeds, drawPositions, temperatures, topKs, topPs, minPs, masks, maskRows } = data;
    const rows = Int32Array.from(slices, ({ request }) => request.keptRow ?? -1);
    const choices = { rows, chosenBlocks, seeds, drawPositions, temperatures, topKs, topPs, minPs, masks, maskRows };
    return { kind: "choice", slices, kept: [], outputs: this.#plans.choose.run(choices, { dims: { nMask: slices.length } }) };
  }

  dispose(): void {
    this.#plans.choose.dispose();
    this.#plans.model.dispose();
  }

  /** A row that no request needs any more. If there is none, a request loses its row that no caller has asked for yet. */
  #takeRow(request: Request): number {
    const rows = this.#rows;
    let row = rows.findIndex((holder) => holder === undefined || holder.isDropped || holder.isSubmitted);
    if (row < 0) {
      row = rows.findIndex((holder) => holder?.completion === undefined);
      rows[row]?.drop();
    }
    rows[row] = request;
    return row;
  }
}
