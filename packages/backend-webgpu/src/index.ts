export { webgpu } from "./backend.ts";
export type { WgslKernel } from "./customKernel.ts";
export type { WebgpuOptions } from "./device.ts";
export type { Binding, Dispatch, ElementType, Field, Kernel, KernelCall, KernelDefinition, Resource } from "./kernel.ts";
export { type Kernels, kernels } from "./kernels/index.ts";
