import type { OpName } from "@centella/core";
import type { FusedParams } from "@centella/core/backend";
import { type AnchoredCall, type GpuKernel, type Group, gpuKernels, groupOf, groupUnsupported } from "@centella/gpu-kernels";
import { type Capabilities, subgroupLanes } from "../device/capabilities.ts";
import { dispatchOf } from "../wgsl/gpuKernel.ts";
import type { Binding, Dispatch, Kernel, Resource } from "./shared/kernel.ts";
import { normUnsupported, siblingBindings, siblingDispatches, siblingsUnsupported } from "./siblings/siblingProducts.ts";

/** A group of calls: a loop over elements, a call with its prologue or epilogue, products of one tensor or of a norm, or a write to a cache. */
export function fusedKernel(kernelNamed: (op: string) => Kernel | undefined, capabilities: Capabilities): Kernel<FusedParams> {
  const { maxBindings } = capabilities;
  const subgroup = subgroupLanes(capabilities);
  return {
    unsupported(inputs, params) {
      const reason = groupUnsupported(inputs, params, kernelNamed);
      if (reason !== undefined) return reason;
      const group = groupOf(inputs, params);
      const bindings = bindingsOf(group);
      if (bindings > maxBindings) return `${bindings} tensors in one kernel, which may have ${maxBindings}`;
      if (group.kind === "normed") return normUnsupported(group.siblings, { call: group.norm, inputs }, capabilities);
      return group.kind === "siblings" ? siblingsUnsupported(group, capabilities) : undefined;
    },
    dispatches({ inputs }, params) {
      const group = groupOf(inputs, params);
      switch (group.kind) {
        case "elementwise":
        case "cacheWrite":
          return [dispatchOf(group.step, subgroup)];
        case "siblings":
          return siblingDispatches(group, capabilities);
        case "normed": {
          const { norm, siblings } = group;
          const dispatches = (to: Resource): readonly Dispatch[] => anchoredDispatches(norm, kernelNamed(norm.op.name), to);
          return siblingDispatches(siblings, capabilities, { call: norm, inputs, dispatches });
        }
        case "anchored":
          return anchoredDispatches(group, kernelNamed(group.op.name));
      }
    },
  };
}

/** Dispatches of a call of a group with the elementwise calls around it. Its result is in `to`. */
function anchoredDispatches(call: AnchoredCall, kernel: Kernel | undefined, to: Resource = { kind: "output" }): readonly Dispatch[] {
  const renamed = (binding: Binding): Binding => {
    const { resource } = binding;
    if (resource.kind === "input") return { ...binding, resource: { ...resource, index: call.inputOf(resource.index) } };
    return resource.kind === "output" ? { ...binding, resource: to } : binding;
  };
  const dispatches = kernel?.dispatches(call, call.params) ?? [];
  return dispatches.map((dispatch) => ({ ...dispatch, bindings: dispatch.bindings.map(renamed) }));
}

/** Returns the largest number of storage buffers of a group's dispatches. The device's own limit bounds elementwise groups. */
function bindingsOf(group: Group): number {
  switch (group.kind) {
    case "elementwise":
      return 0;
    case "cacheWrite":
      return Object.keys(group.step.args).length;
    case "siblings":
      return siblingBindings(group);
    case "normed":
      return siblingBindings(group.siblings, group.norm);
    case "anchored": {
      const own = group.prologue === undefined ? group.inputs.length : group.inputs.length - 1;
      return Math.max(own + Object.keys({ ...group.prologue?.args, ...group.epilogue?.args }).length + 1, sharedBindings(group));
    }
  }
}

/** Returns the largest number of storage buffers of the steps of the shared kernel of a call, temporary memory among them; 0 if there is none. */
function sharedBindings({ op, params, ...call }: AnchoredCall): number {
  const kernel: GpuKernel | undefined = gpuKernels[op.name as OpName];
  return Math.max(0, ...(kernel?.steps(call, params) ?? []).map(({ args }) => Object.keys(args).length));
}
