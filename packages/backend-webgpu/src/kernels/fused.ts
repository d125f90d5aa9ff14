import type { TensorSpec } from "@centella/core";
import type { FusedParams } from "@centella/core/backend";
import { groupOf, groupUnsupported } from "@centella/gpu-kernels";
import { dispatchOf } from "../wgsl/gpuKernel.ts";
import type { Binding, Kernel } from "./shared/kernel.ts";
import { siblingBindings, siblingDispatches } from "./shared/siblingProducts.ts";

/** A group of calls: a loop over elements, a call with its prologue or epilogue, products of one tensor, or a write to a cache. `maxBindings`: storage buffers that a shader stage may bind. */
export function fusedKernel(kernelNamed: (op: string) => Kernel | undefined, maxBindings: number): Kernel<FusedParams> {
  return {
    unsupported(inputs, params) {
      const reason = groupUnsupported(inputs, params, kernelNamed);
      if (reason !== undefined) return reason;
      const bindings = bindingsOf(inputs, params);
      return bindings > maxBindings ? `${bindings} tensors in one kernel, which may have ${maxBindings}` : undefined;
    },
    dispatches({ inputs }, params) {
      const group = groupOf(inputs, params);
      switch (group.kind) {
        case "elementwise":
        case "cacheWrite":
          return [dispatchOf(group.step)];
        case "siblings":
          return siblingDispatches(group);
        case "anchored": {
          const { op, params: own, inputOf } = group;
          const renamed = (binding: Binding): Binding => {
            const { resource } = binding;
            return resource.kind === "input" ? { ...binding, resource: { ...resource, index: inputOf(resource.index) } } : binding;
          };
          const dispatches = kernelNamed(op.name)?.dispatches(group, own) ?? [];
          return dispatches.map((dispatch) => ({ ...dispatch, bindings: dispatch.bindings.map(renamed) }));
        }
      }
    },
  };
}

/** Returns the largest number of storage buffers of a group's dispatches. The device's own limit bounds elementwise groups. */
function bindingsOf(inputs: readonly (TensorSpec | undefined)[], params: FusedParams): number {
  const group = groupOf(inputs, params);
  switch (group.kind) {
    case "elementwise":
      return 0;
    case "cacheWrite":
      return Object.keys(group.step.args).length;
    case "siblings":
      return siblingBindings(group);
    case "anchored": {
      const own = group.prologue === undefined ? group.inputs.length : group.inputs.length - 1;
      return own + Object.keys({ ...group.prologue?.args, ...group.epilogue?.args }).length + 1;
    }
  }
}
