import type { Plan, Tensor } from "@centella/core";
import { ProgramError } from "@centella/core";
import { countRows, type Request } from "./request.ts";
import type { RunInputs, Slice } from "./runInputs.ts";

/** Limits of one run. */
export interface BatchLimits {
  /** Maximum number of tokens. */
  readonly batchSize: number;
  /** Maximum number of output rows. */
  readonly maxRows: number;
  /** Whether tokens attend to later ones, so that a text must be computed in a single run. */
  readonly isEncoder: boolean;
}

/** The part of a {@link Plan} that runs use. */
export interface RunnablePlan extends Pick<Plan, "dispose"> {
  run(...args: Parameters<Plan["run"]>): Readonly<Record<string, RunOutput>>;
}

/** The part of a {@link Tensor} that runs use. */
export type RunOutput = Pick<Tensor, "data" | "dispose">;

/** A submitted run. */
export interface RunningBatch {
  /** Whether the model is computed, or tokens are chosen from logits that were kept. */
  readonly kind: "model" | "choice";
  readonly slices: readonly Slice[];
  /** Slices whose logits the run keeps on the device, because the choice of their tokens is deferred. */
  readonly kept: readonly Slice[];
  readonly outputs: Readonly<Record<string, RunOutput>>;
}

/** Output of a run: rows of the requests that read them, and the chosen tokens of all rows if another request reads those. */
export interface BatchRows {
  readonly values: Float32Array;
  readonly tokens: Int32Array | undefined;
}

const noValues = new Float32Array(0);

/**
 * Chooses what the next run computes: requests that the last runs had no room for, then those with the fewest tokens left. A run that keeps
 * logits has up to `keepingSize` tokens; it takes no parts of texts, which larger runs compute faster.
 */
export function nextSlices(
  requests: readonly Request[],
  { batchSize, maxRows, isEncoder }: BatchLimits,
  keepingSize = 0,
): readonly Slice[] {
  const slices: Slice[] = [];
  const left = ({ length, done }: Request): number => length - done;
  const order = requests.length === 1 ? requests : requests.toSorted((a, b) => b.skipped - a.skipped || left(a) - left(b));
  const keepsLogits = order[0] !== undefined && left(order[0]) <= keepingSize && order.some(({ isDeferred }) => isDeferred);
  let [tokens, rows] = [keepsLogits ? keepingSize : batchSize, maxRows];
  for (const request of order) {
    const wanted = request.options.rows;
    const count = Math.min(left(request), tokens, wanted === "all" ? rows : tokens);
    const isLast = count === left(request);
    const rowCount = wanted === "all" ? count : isLast ? countRows(request.ids, request.options) : 0;
    const isWhole = request.options.isDraft || isEncoder || keepsLogits || typeof wanted === "object";
    if (count === 0 || rowCount > rows || (isWhole && !isLast) || (request.isDeferred && !keepsLogits)) {
      request.skipped++;
      continue;
    }
    request.skipped = 0;
    slices.push({ request, count, rows: rowCount });
    tokens -= count;
    rows -= rowCount;
  }
  return slices;
}

/** Whether another run may be queued behind `runs`, which are not over: only one that continues all sequences of the last of them. */
export function mayQueue(runs: readonly RunningBatch[], runsInFlight: number): boolean {
  const last = runs.at(-1);
  const slices = last === undefined ? [] : [...last.slices, ...last.kept];
  return (
    runs.length < runsInFlight && slices.every(({ request }) => request.isDropped || (request.isSubmitted && request.next !== undefined))
  );
}

/** Reserves the cache slots of a run and submits it. Runs execute in the order of these calls. */
export function submit(plan: RunnablePlan, slices: readonly Slice[], inputs: RunInputs): RunningBatch {
  const { data, dims } = inputs.fill(slices);
  // A run that serves several requests is not stopped for one of them.
  const signal = slices.length === 1 ? slices[0]?.request.options.signal : undefined;
  const outputs = plan.run(data, { dims, ...(signal && { signal }) });
  return { kind: "model", slices, kept: [], outputs };
}

/** Waits for a run and reads the rows that its requests want. Frees the run's outputs. */
export async function readRows(
  { slices, outputs }: Pick<RunningBatch, "slices" | "outputs">,
  output: "logits" | "states",
): Promise<BatchRows> {
  try {
    const readsValues = slices.some(({ request, rows }) => rows > 0 && request.output.kind === "values");
    const readsTokens = slices.some(({ request, rows }) => rows > 0 && request.output.kind === "tokens");
    // Without rows, the empty output shows that the run is done, or why it failed.
    const values = readsValues || !readsTokens ? ((await dataOf(outputs, output)) as Float32Array) : noValues;
    return { values, tokens: readsTokens ? ((await dataOf(outputs, "chosen")) as Int32Array) : undefined };
  } finally {
    for (const name in outputs) outputs[name]?.dispose();
  }
}

/** Copies each request's rows to its output. `width` is the number of elements of a row. */
export function deliver(slices: readonly Slice[], { values, tokens }: BatchRows, width: number): void {
  let [row, read] = [0, 0];
  for (const { request, rows } of slices) {
    const { output, options, done } = request;
    const from = options.rows === "all" ? done : 0;
    if (output.kind === "values") {
      output.values.set(values.subarray(read * width, (read + rows) * width), from * width);
      read += rows;
    } else if (tokens !== undefined) {
      for (let i = 0; i < rows; i++) output.tokens[from + i] = tokens[row + i]!;
    }
    row += rows;
  }
}

function dataOf(outputs: RunningBatch["outputs"], name: string): ReturnType<Tensor["data"]> {
  const tensor = outputs[name];
  if (tensor === undefined) throw new ProgramError(`run: expected a model's program with the output ${name}, got none`);
  return tensor.data();
}
