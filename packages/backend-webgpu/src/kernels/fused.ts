import type { TensorSpec } from "@centella/core";
import type { FusedParams } from "@centella/core/backend";
import { groupOf, groupUnsupported } from "@centella/gpu-kernels";
import { kernelFrom } from "../wgsl/gpuKernel.ts";
import type { Binding, KernelDefinition } from "./shared/kernel.ts";
import { siblingBindings, siblingKernels } from "./shared/siblingProducts.ts";

/** Storage buffers that a shader stage may bind on every device. */
const maxBindings = 8;

/** A group of calls: a loop over elements, a call with its prologue or epilogue, or products of one tensor. */
export function fusedKernel(definitionNamed: (op: string) => KernelDefinition | undefined): KernelDefinition<FusedParams> {
  return {
    unsupported({ inputs, params }) {
      const reason = groupUnsupported(inputs, params, definitionNamed);
      if (reason !== undefined) return reason;
      const bindings = bindingsOf(inputs, params);
      return bindings > maxBindings ? `${bindings} tensors in one kernel, which may have ${maxBindings}` : undefined;
    },
    build({ inputs, params }) {
      const group = groupOf(inputs, params);
      switch (group.kind) {
        case "elementwise":
          return [kernelFrom(group.step)];
        case "siblings":
          return siblingKernels(inputs as readonly TensorSpec[], params, group.results);
        case "anchored": {
          const { op, inputOf } = group;
          const renamed = (binding: Binding): Binding => {
            const { resource } = binding;
            return resource.kind === "input" ? { ...binding, resource: { ...resource, index: inputOf(resource.index) } } : binding;
          };
          return definitionNamed(op.name)!
            .build(group)
            .map((kernel) => ({ ...kernel, bindings: kernel.bindings.map(renamed) }));
        }
      }
    },
  };
}

/** Most storage buffers of a kernel of a group. Loops are bounded by the device's own limit. */
function bindingsOf(inputs: readonly (TensorSpec | undefined)[], params: FusedParams): number {
  const group = groupOf(inputs, params);
  switch (group.kind) {
    case "elementwise":
      return 0;
    case "siblings":
      return siblingBindings(inputs as readonly TensorSpec[], params, group.results);
    case "anchored": {
      const own = group.prologue === undefined ? group.inputs.length : group.inputs.length - 1;
      return own + Object.keys({ ...group.prologue?.args, ...group.epilogue?.args }).length + 1;
    }
  }
}
