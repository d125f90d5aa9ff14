import { type FusedParams, resultsOf } from "@centella/core/backend";
import { type AnchoredCall, groupOf, groupUnsupported } from "@centella/gpu-kernels";
import { launchOf } from "../ptx/gpuKernel.ts";
import { normUnsupported, siblingLaunches } from "./matmul.ts";
import { input, type Kernel, type KernelCall, type Launch, output, type Parameter } from "./shared/kernel.ts";

/** Most calls in an epilogue: each thread of a product has 16 results, and the text repeats for each. */
const maxEpilogue = 16;

/** A group of calls: a loop over elements, a call with its prologue or epilogue, products of one tensor or of a norm, or a write to a cache. */
export function fusedKernel(kernelNamed: (op: string) => Kernel | undefined): Kernel<FusedParams> {
  return {
    unsupported(inputs, params) {
      const reason = groupUnsupported(inputs, params, kernelNamed);
      if (reason !== undefined) return reason;
      const isLong = resultsOf(inputs.length, params).some(
        ({ anchors, elementwise }) => anchors.length > 0 && (elementwise?.params.body.length ?? 0) > maxEpilogue,
      );
      if (isLong) return `more than ${maxEpilogue} calls after another one`;
      const group = groupOf(inputs, params);
      return group.kind === "normed" ? normUnsupported(group.siblings) : undefined;
    },
    launches(call, params) {
      const group = groupOf(call.inputs, params);
      switch (group.kind) {
        case "elementwise":
        case "cacheWrite":
          return [launchOf(call, "fused", group.step, [])];
        case "siblings":
          return siblingLaunches(call, group);
        case "normed": {
          const { norm, siblings } = group;
          const launches = (to: Parameter): readonly Launch[] => anchoredLaunches(call, norm, kernelNamed(norm.op.name), to);
          return siblingLaunches(call, siblings, { call: norm, launches });
        }
        case "anchored":
          return anchoredLaunches(call, group, kernelNamed(group.op.name));
      }
    },
  };
}

/** Launches of a call of a group with the elementwise calls around it. Its result is in `to`. */
function anchoredLaunches(
  call: KernelCall,
  { op: _op, params, inputOf, ...anchored }: AnchoredCall,
  kernel: Kernel | undefined,
  to: Parameter = output,
): readonly Launch[] {
  const renamed = (argument: Parameter): Parameter => {
    if (argument.kind === "input") return input(inputOf(argument.index));
    return argument.kind === "output" ? to : argument;
  };
  const inner: KernelCall = {
    ...call,
    ...anchored,
    unitsOf: (index) => call.unitsOf(inputOf(index)),
    isGiven: (index) => call.isGiven(inputOf(index)),
  };
  const launches = kernel?.launches(inner, params) ?? [];
  return launches.map((launch): Launch => ({ ...launch, args: launch.args.map(renamed) }));
}
