import type { OpName } from "@centella/core";
import { elementCount, type FusionLimits, maxSpec } from "@centella/core/backend";
import { KernelTable } from "@centella/gpu-kernels";
import { kernelFrom } from "../ptx/gpuKernel.ts";
import { attention } from "./attention.ts";
import { fusedKernel } from "./fused.ts";
import { matmul } from "./matmul.ts";
import { moeMatmul } from "./moeMatmul.ts";
import { customKernel } from "./shared/custom.ts";
import type { Kernel, KernelOf } from "./shared/kernel.ts";

/** Kernels of the backend's own, each with the reason why it is not the shared one. */
const own = {
  // Tensor cores, and warps that keep their part of the output in registers; WebGPU has no portable warp.
  attention,
  // Few rows on tensor cores, with weights in units that bulk copies bring; otherwise loads of 16 bytes, a warp per column.
  matmul,
  // The same for the rows of experts.
  moeMatmul,
} satisfies { readonly [N in OpName]?: KernelOf<N> };

/** Kernels count elements in 32 bits. */
const maxElements = 2 ** 31 - 1;

/** The kernels by op: those that all GPUs share, and {@link own}. */
export const kernelTable: KernelTable<Kernel> = new KernelTable<Kernel>({
  backend: "cuda",
  own,
  shared: kernelFrom,
  fused: fusedKernel,
  custom: (op) => op.kernels?.ptx && customKernel(op, op.kernels.ptx),
  refuses(specs) {
    const isLarge = specs.some((spec) => spec !== undefined && elementCount(maxSpec(spec).shape) > maxElements);
    return isLarge ? `a tensor of more than ${maxElements} elements` : undefined;
  },
});

/** Larger groups are split: registers run out long before. */
export const fusion: FusionLimits = { maxInputs: 64, maxCalls: 256 };
