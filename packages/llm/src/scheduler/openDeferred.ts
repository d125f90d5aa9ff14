import { OutOfMemoryError } from "@centella/core";
import type { DeferredChoices, DeferredPlans } from "./deferredChoices.ts";
import { type InputLayout, RunInputs } from "./runInputs.ts";

/**
 * Opens the choices that wait for masks. `layout` and `choices` are those of the scheduler's own program. Undefined if there is no memory
 * for them: texts are then the same, but the device waits for the host.
 */
export async function openDeferred(
  openPlans: () => Promise<DeferredPlans>,
  layout: InputLayout,
  choices: RunInputs,
): Promise<DeferredChoices | undefined> {
  try {
    const [plans, { DeferredChoices }] = await Promise.all([openPlans(), import("./deferredChoices.ts")]);
    return new DeferredChoices(plans, new RunInputs({ ...layout, keepsLogits: true }), choices);
  } catch (error) {
    if (error instanceof OutOfMemoryError) return undefined;
    throw error;
  }
}
