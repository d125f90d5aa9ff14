import type { StepTime } from "@centella/core/backend";
import type { Run } from "../kernel.ts";
import { type RunContext, runList } from "./runner.ts";
import { recordStep, type StepList, writeStepList } from "./stepList.ts";

/** Runs the steps of a plan one by one, each from a list of its own, and returns the time of each. */
export async function timeSteps(run: Run, context: RunContext, signal: AbortSignal | undefined): Promise<readonly StepTime[]> {
  const { memory, tasks, onStep } = context;
  const times: StepTime[] = [];
  for (const [step, task] of tasks.entries()) {
    const list = writeStepList(memory.heap, [recordStep(memory, task, run)]);
    try {
      times.push(...(await timeRun(list, run, { ...context, tasks: [task], onStep: () => onStep(step) }, signal)));
    } finally {
      memory.heap.free(list.address);
    }
  }
  return times;
}

/** Runs a list, and returns its time. */
export async function timeRun(
  list: StepList,
  run: Run,
  context: RunContext,
  signal: AbortSignal | undefined,
): Promise<readonly [StepTime]> {
  const start = performance.now();
  await runList(list, run, context, signal);
  return [{ microseconds: 1000 * (performance.now() - start) }];
}
