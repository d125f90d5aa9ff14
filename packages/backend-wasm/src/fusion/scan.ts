import { elementAt } from "@centella/core/backend";
import type { FusedKernel } from "../kernel.ts";
import { lazyKernel } from "../kernels/lazy/lazyKernels.ts";

/**
 * A scan fused with the write of its states: the kernel of the scan does both in one pass over the tokens.
 */
export const fusedScan: FusedKernel = {
  unsupported(_inputs, { body: [, write, ...rest], extraOutputs }) {
    const isPair = write?.op.writes === 0 && rest.length === 0 && extraOutputs?.join() === "0";
    return isPair ? undefined : "the only epilogue of a scan is the write of its states";
  },
  emitted: () => [],
  build(context, inputs, { body }, state, extraOutputs = []) {
    const { op, inputs: indices, params } = elementAt(body, 0);
    const operands = indices.map((index) => (index === undefined ? undefined : inputs[index]));
    return lazyKernel(op).build(context, operands, params, elementAt(extraOutputs, 0), [state]);
  },
};
