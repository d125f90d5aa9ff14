import type { Lowered, Operand, Output } from "@centella/core/backend";

/** Bytes of output per step from which it is worth recording the steps anew for another address rather than copying the output. */
const bytesPerStep = 2 ** 15;

/** An output that the steps write straight to the memory of the tensor that a run returns. */
export type DirectOutput = Output & { readonly operand: Operand };

/** Large outputs that stay on the device and are computed in memory of their own; others are copied from where the plan has them. */
export function directOutputs({ outputs, steps }: Lowered): readonly DirectOutput[] {
  return outputs.filter(
    ({ to, operand: { storage } }) =>
      to === "device" &&
      storage.definition.kind === "node" &&
      storage.bytes >= bytesPerStep * steps.length &&
      outputs.filter((other) => other.operand.storage === storage).length === 1,
  );
}
