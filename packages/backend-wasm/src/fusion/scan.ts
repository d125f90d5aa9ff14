import { type FusedParams, ops } from "@centella/core/backend";
import type { FusedKernel } from "../kernel.ts";
import { lazyKernel } from "../kernels/lazy/lazyKernels.ts";

/** Whether a group begins with a selective scan. */
export function hasScan({ body }: FusedParams): boolean {
  return body[0]!.op.name === ops.ssmScan.name;
}

/** A selective scan that gives the tokens' results and keeps the states: one walk over the tokens, by the kernel of `ssmScan`. */
export const fusedScan: FusedKernel = {
  unsupported: (_inputs, { body, extraOutputs }) =>
    extraOutputs?.join() === "0" && body.length === 2 && body[1]!.op.name === ops.ssmScanWrite.name
      ? undefined
      : "a scan is finished by nothing but the write of its states",
  emitted: () => [],
  build(context, inputs, { body }, state, extraOutputs) {
    const { op, inputs: places, params } = body[0]!;
    const own = places.map((place) => inputs[place!]);
    return lazyKernel(op).build(context, own, params, extraOutputs![0]!, [state]);
  },
};
