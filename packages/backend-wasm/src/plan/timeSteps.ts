import type { StepTime } from "@centella/core/backend";
import type { Run } from "../kernel.ts";
import { type RunContext, runList } from "./runner.ts";
import { recordStep, writeStepList } from "./stepList.ts";

/** Runs the steps of a plan one by one, each from a list of its own, and returns the time of each. */
export async function timeSteps(run: Run, context: RunContext, signal: AbortSignal | undefined): Promise<readonly StepTime[]> {
  const { memory, tasks, onStep } = context;
  const times: StepTime[] = [];
  for (const [step, task] of tasks.entries()) {
    const list = writeStepList(memory.heap, [recordStep(memory, task, run)]);
    try {
      const start = performance.now();
      await runList(list, run, { ...context, tasks: [task], onStep: () => onStep(step) }, signal);
      times.push({ microseconds: 1000 * (performance.now() - start) });
    } finally {
      memory.heap.free(list.address);
    }
  }
  return times;
}
