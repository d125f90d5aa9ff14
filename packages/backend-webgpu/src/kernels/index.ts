import type { OpName } from "@centella/core";
import type { FusionLimits } from "@centella/core/backend";
import { KernelTable } from "@centella/gpu-kernels";
import { type Capabilities, type KernelLimits, subgroupLanes } from "../device/capabilities.ts";
import { kernelFrom } from "../wgsl/gpuKernel.ts";
import { attentionFor } from "./attention.ts";
import { conv2dFor } from "./conv2d.ts";
import { fusedKernel } from "./fused.ts";
import { matmulFor } from "./matmul.ts";
import { moeMatmulFor } from "./moeMatmul.ts";
import { customKernel } from "./shared/custom.ts";
import type { Kernel, KernelOf } from "./shared/kernel.ts";

/** Kernels of the backend's own, each with the reason why it is not the shared one. */
function ownKernels(capabilities: Capabilities) {
  return {
    // Lanes of a subgroup share a position; without subgroups a lane has one, and scores pass through workgroup memory.
    attention: attentionFor(capabilities),
    // Images and weights pass through workgroup memory, which texts declare as vectors.
    conv2d: conv2dFor(capabilities),
    // A text serves all extents of a symbolic dim, with a form for few rows and one for many; tiles fit every device's workgroup memory.
    matmul: matmulFor(capabilities),
    // Rows are multiplied by the forms of `matmul`, several rows of an expert together.
    moeMatmul: moeMatmulFor(capabilities),
  } satisfies { readonly [N in OpName]?: KernelOf<N> };
}

/** Returns the limits of a fused group. One binding is the output's. */
export function fusionLimits({ maxBindings }: KernelLimits): FusionLimits {
  return { maxInputs: maxBindings - 1, maxCalls: 128 };
}

/** The kernels of a device with these capabilities, by op: those that all GPUs share, and {@link ownKernels}. */
export function kernelTableFor(capabilities: Capabilities): KernelTable<Kernel> {
  const subgroup = subgroupLanes(capabilities);
  return new KernelTable<Kernel>({
    backend: "webgpu",
    own: ownKernels(capabilities),
    shared: (_op, kernel) => kernelFrom(kernel, subgroup),
    fused: (kernelNamed) => fusedKernel(kernelNamed, capabilities),
    custom: (op) => op.kernels?.wgsl && customKernel(op, op.kernels.wgsl),
  });
}
