export { webgpu } from "./backend.ts";
export type { WgslKernel } from "./customKernel.ts";
export type { ExperimentalFeature, OptionalFeature } from "./device/capabilities.ts";
export type { WebgpuOptions } from "./device/device.ts";
export { type TuningStore, tuningFile } from "./tuning/store.ts";
