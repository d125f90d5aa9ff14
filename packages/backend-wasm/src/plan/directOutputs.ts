import type { Lowered, Operand, Output } from "@centella/core/backend";

/**
 * Bytes of output per step above which recording the steps again for a new address is faster than copying the output.
 */
const bytesPerStep = 2 ** 15;

/** An output that steps write directly to the memory of the returned tensor. */
export type DirectOutput = Output & { readonly operand: Operand };

/** Large outputs that stay on the device and are computed in place. Other outputs are copied from the plan's memory. */
export function directOutputs({ outputs, steps }: Lowered): readonly DirectOutput[] {
  return outputs.filter(
    ({ to, operand: { storage } }) =>
      to === "device" &&
      storage.definition.kind === "node" &&
      storage.bytes >= bytesPerStep * steps.length &&
      outputs.filter((other) => other.operand.storage === storage).length === 1,
  );
}
