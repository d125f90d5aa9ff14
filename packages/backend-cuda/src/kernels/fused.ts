import { type FusedParams, resultsOf } from "@centella/core/backend";
import { groupOf, groupUnsupported } from "@centella/gpu-kernels";
import { launchOf } from "../ptx/gpuKernel.ts";
import { siblingLaunches } from "./matmul.ts";
import { input, type Kernel, type KernelCall, type Launch, type Parameter } from "./shared/kernel.ts";

/** Most calls in an epilogue: each thread of a product has 16 results, and the text repeats for each. */
const maxEpilogue = 16;

/** A group of calls: a loop over elements, a call with its prologue or epilogue, products of one tensor, or a write to a cache. */
export function fusedKernel(kernelNamed: (op: string) => Kernel | undefined): Kernel<FusedParams> {
  return {
    unsupported(inputs, params) {
      const reason = groupUnsupported(inputs, params, kernelNamed);
      if (reason !== undefined) return reason;
      const isLong = resultsOf(inputs.length, params).some(
        ({ anchors, elementwise }) => anchors.length > 0 && (elementwise?.params.body.length ?? 0) > maxEpilogue,
      );
      return isLong ? `more than ${maxEpilogue} calls after another one` : undefined;
    },
    launches(call, params) {
      const group = groupOf(call.inputs, params);
      switch (group.kind) {
        case "elementwise":
        case "cacheWrite":
          return [launchOf(call, "fused", group.step)];
        case "siblings":
          return siblingLaunches(call, group);
        case "anchored": {
          const { op, params: own, inputOf, ...anchored } = group;
          const renamed = (argument: Parameter): Parameter => (argument.kind === "input" ? input(inputOf(argument.index)) : argument);
          const inner: KernelCall = { ...call, ...anchored, unitsOf: (index) => call.unitsOf(inputOf(index)) };
          const launches = kernelNamed(op.name)?.launches(inner, own) ?? [];
          return launches.map((launch): Launch => ({ ...launch, args: launch.args.map(renamed) }));
        }
      }
    },
  };
}
