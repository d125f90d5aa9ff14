import { onTestFinished, vi } from "vitest";
import { blockTokens } from "../src/cache/prefixCache.ts";
import type { Sequence } from "../src/cache/sequence.ts";
import { SequencePool } from "../src/cache/sequencePool.ts";
import type { DeviceSampling } from "../src/sampling/deviceSampling.ts";
import type { RunnablePlan, RunOutput } from "../src/scheduler/batch.ts";
import type { DeferredPlans } from "../src/scheduler/deferredChoices.ts";
import type { TokenChoice } from "../src/scheduler/request.ts";
import { Scheduler } from "../src/scheduler/scheduler.ts";

type Inputs = Readonly<Record<string, Int32Array | Float32Array>>;

export interface RecordedRun {
  /** The plan that runs: the model, the model that keeps logits, or the choice from them. */
  readonly plan: "model" | "keeping" | "choice";
  readonly inputs: Readonly<Record<string, readonly number[]>>;
  /** Ends the run with the token that it chooses in each row. */
  readonly end: (...tokens: readonly number[]) => void;
  readonly fail: (error: Error) => void;
}

export const contextLength = 64;

/**
 * A scheduler over a plan whose runs end when a test ends them, and what it read of their outputs. `deferred` opens the plans of choices that
 * are deferred. The clock stands still until the test ends: a scheduler whose runs took long lets the event loop run first.
 */
export function setUp(
  runsInFlight: number,
  deferred?: (plans: DeferredPlans) => Promise<DeferredPlans>,
): {
  scheduler: Scheduler;
  runs: RecordedRun[];
  pool: SequencePool;
  read: [name: string, bytes: number][];
} {
  const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
  onTestFinished(() => clock.mockRestore());
  const runs: RecordedRun[] = [];
  const read: [name: string, bytes: number][] = [];
  const run = (plan: RecordedRun["plan"], inputs: Inputs): Record<string, RunOutput> => {
    let resolve: (tokens: readonly number[]) => void = () => undefined;
    let reject: (error: Error) => void = () => undefined;
    const results = new Promise<readonly number[]>((...settle) => {
      [resolve, reject] = settle;
    });
    results.catch(() => undefined);
    const output = (name: string, of: (tokens: readonly number[]) => Int32Array | Float32Array) => ({
      async data() {
        const data = of(await results);
        read.push([name, data.byteLength]);
        return data;
      },
      dispose: () => undefined,
    });
    runs.push({
      plan,
      inputs: Object.fromEntries(Object.entries(inputs).map(([name, data]) => [name, [...data]])),
      end: (...tokens) => resolve(tokens),
      fail: reject,
    });
    return {
      logits: output("logits", () => new Float32Array(0)),
      chosen: output("chosen", (tokens) => Int32Array.from(tokens)),
    };
  };
  const sizes = { contextLength, sequences: 3, vocabSize: 10, batchSize: 8, maxRows: 8, width: 10 };
  const traits = { isEncoder: false, isRecurrent: false, output: "logits" } as const;
  const planOf = (plan: RecordedRun["plan"]): RunnablePlan => ({
    run: (inputs) => run(plan, inputs as Inputs),
    dispose: () => undefined,
  });
  const plans: DeferredPlans = { model: planOf("keeping"), choose: planOf("choice"), batchSize: 4, sequences: 3 };
  const scheduler = new Scheduler(
    planOf("model"),
    { idle: async () => undefined },
    {
      ...sizes,
      ...traits,
      runsInFlight,
      ...(deferred && { openDeferred: () => deferred(plans) }),
    },
  );
  return { scheduler, runs, read, pool: new SequencePool({ sequences: 3, blocks: contextLength / blockTokens, maxWaiting: 1 }) };
}

/** Lets the scheduler take the turns of the event loop that it may need before it submits runs. */
export async function turns(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}

export const sampling: DeviceSampling = { seed: [7, 1], temperature: 0.5, topK: 40, topP: 0.75, minP: 0.25 };

export const feed = async (
  scheduler: Scheduler,
  sequence: Sequence,
  ids: readonly number[],
  following: number,
  choice: Partial<TokenChoice> = {},
): Promise<number> => {
  const position = sequence.ids.length + ids.length;
  return (await scheduler.feedChoosing(sequence, ids, { rows: "last", following }, { sampling, position, ...choice }))[0]!;
};
