export { webgpu } from "./backend.ts";
export type { WgslKernel } from "./customKernel.ts";
export type { WebgpuOptions } from "./device/device.ts";
export { type Kernels, kernels } from "./kernels/index.ts";
export type { Binding, Dispatch, ElementType, Field, Kernel, KernelCall, KernelDefinition, Resource } from "./kernels/shared/kernel.ts";
