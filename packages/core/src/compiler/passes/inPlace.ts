import { sameShape } from "../../spec.ts";
import type { Lowered, Operand, Step, Storage } from "../lowered.ts";
import { isElementwise } from "./fused.ts";

/**
 * Lets elementwise calls and groups write their result over an input that nothing reads afterwards. This saves memory and keeps data
 * in the caches. Only for backends whose temporaries share one address space; elsewhere, one dispatch cannot both read and write a
 * buffer. Linear in the number of steps.
 */
export function inPlace(lowered: Lowered): Lowered {
  const moved = new Map<Storage, Storage>();
  const now = (operand: Operand): Operand => {
    const storage = moved.get(operand.storage);
    return storage === undefined ? operand : { ...operand, storage };
  };
  const steps = lowered.steps.map((step, at): Step => {
    const inputs = step.inputs.map((operand) => operand && now(operand));
    const isCandidate = isElementwise(step) && isOwn(step.output, at);
    const dying = isCandidate
      ? inputs.find((operand) => operand && dies(operand, step.output, at) && isSeenAsOne(operand, inputs))
      : undefined;
    if (dying !== undefined) {
      dying.storage.last = step.output.storage.last;
      moved.set(step.output.storage, dying.storage);
    }
    return { ...step, inputs, output: now(step.output), ...(step.extraOutputs && { extraOutputs: step.extraOutputs.map(now) }) };
  });
  return {
    ...lowered,
    steps,
    storages: lowered.storages.filter((storage) => !moved.has(storage)),
    outputs: lowered.outputs.map((output) => ({ ...output, operand: now(output.operand) })),
  };
}

/** Whether a step writes its result to new memory. */
function isOwn({ storage }: Operand, at: number): boolean {
  return storage.definition.kind === "node" && storage.first === at;
}

/** Whether an input is a temporary of the result's spec that is read for the last time. */
function dies({ spec, storage }: Operand, output: Operand, at: number): boolean {
  return (
    storage.definition.kind === "node" &&
    storage.last === at &&
    spec.dtype === output.spec.dtype &&
    sameShape(spec.shape, output.spec.shape)
  );
}

/** Whether no other input is the same memory with another shape, which would be read at other indices than are written. */
function isSeenAsOne({ spec, storage }: Operand, inputs: readonly (Operand | undefined)[]): boolean {
  return inputs.every((other) => other?.storage !== storage || sameShape(other.spec.shape, spec.shape));
}
