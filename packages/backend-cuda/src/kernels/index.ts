import type { OpName, ParamsOf, TensorSpec } from "@centella/core";
import { type AnyOp, elementCount, type FusionLimits, isFused, maxSpec } from "@centella/core/backend";
import { type GpuKernel, gpuKernels } from "@centella/gpu-kernels";
import { kernelFrom } from "../ptx/gpuKernel.ts";
import { attention } from "./attention.ts";
import { fusedKernel } from "./fused.ts";
import { matmul } from "./matmul.ts";
import { customKernel } from "./shared/custom.ts";
import type { Kernel } from "./shared/kernel.ts";

/** Kernels by op name: the annotation is the registration. An alias op needs none. */
export type Kernels = { readonly [N in OpName]?: Kernel<ParamsOf<N>> };

// `fromEntries` forgets whose parameters each kernel takes; the table that it is made of is typed by op.
const shared = Object.fromEntries(
  Object.entries(gpuKernels).map(([name, kernel]) => [name, kernelFrom(name, kernel as GpuKernel)]),
) as unknown as Kernels;

/** The kernels, by op: those that all GPUs share, and those that are faster when written for this one. */
export const kernels: Kernels = {
  ...shared,
  // Warps take keys in turn and keep their part of the output in registers; WebGPU has no portable warp.
  attention,
  // Loads of 16 bytes, several under way at once, and one warp per column of the weights.
  matmul,
};

const byName: Readonly<Record<string, Kernel>> = { ...(kernels as Readonly<Record<string, Kernel>>) };
const fused: Kernel = fusedKernel((op) => byName[op]) as Kernel;

/** The kernel of an op (one that came with it too) or of a fused group, its parameter type erased as the op's is. */
export function kernelOf(op: AnyOp): Kernel | undefined {
  if (op.kernels !== undefined) return op.kernels.ptx && customKernel(op, op.kernels.ptx);
  return isFused(op) ? fused : byName[op.name];
}

/** Bodies beyond this are split: registers run out long before. */
export const fusion: FusionLimits = { maxInputs: 64, maxCalls: 256 };

/** Kernels count elements in 32 bits. */
const maxElements = 2 ** 31 - 1;

/** Why there is no kernel for a call; undefined if there is. See `Backend.unsupported`. */
export function unsupported(
  op: AnyOp,
  inputs: readonly (TensorSpec | undefined)[],
  params: object,
  output: TensorSpec,
): string | undefined {
  if (op.alias === true) return undefined;
  const kernel = kernelOf(op);
  if (kernel === undefined)
    return op.kernels === undefined ? `there is no kernel for ${op.name} yet` : `${op.name} came without a kernel for cuda`;
  const large = [...inputs, output].find((spec) => spec !== undefined && elementCount(maxSpec(spec).shape) > maxElements);
  if (large !== undefined) return `a tensor of more than ${maxElements} elements`;
  return kernel.unsupported?.(inputs, params, output);
}
