import type { OpName, ParamsOf } from "@centella/core";
import { type AnyOp, isFused } from "@centella/core/backend";
import { type GpuKernel, gpuKernels } from "@centella/gpu-kernels";
import { definitionOf } from "../wgsl/gpuKernel.ts";
import { attention } from "./attention.ts";
import { fusedKernel } from "./fused.ts";
import { matmul } from "./matmul.ts";
import { customKernel } from "./shared/custom.ts";
import type { KernelDefinition } from "./shared/kernel.ts";

/** Kernels by op name: the annotation is the registration. */
export type Kernels = { readonly [N in OpName]?: KernelDefinition<ParamsOf<N>> };

// `fromEntries` forgets whose parameters each kernel takes; the table that it is made of is typed by op.
const shared = Object.fromEntries(
  Object.entries(gpuKernels).map(([name, kernel]) => [name, definitionOf(kernel as GpuKernel)]),
) as unknown as Kernels;

/** The kernels, by op: those that all GPUs share, and those that are faster when written for this kind. */
export const kernels: Kernels = {
  ...shared,
  // A lane per cached position: scores and weights pass through workgroup memory, since subgroups differ in size.
  attention,
  // A text serves all extents of a symbolic dim, with a form for few rows and one for many; tiles fit every device's workgroup memory.
  matmul,
};

const fused: KernelDefinition = fusedKernel(kernelNamed) as KernelDefinition;

/** The kernel of an op (one that came with it too) or of a fused group, or undefined where there is none. */
export function kernelOf(op: AnyOp): KernelDefinition | undefined {
  if (op.kernels !== undefined) return op.kernels.wgsl && customKernel(op, op.kernels.wgsl);
  return isFused(op) ? fused : kernelNamed(op.name);
}

function kernelNamed(op: string): KernelDefinition | undefined {
  return Object.hasOwn(kernels, op) ? kernels[op as OpName] : undefined;
}
