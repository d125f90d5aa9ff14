export { wasm } from "./backend.ts";
export type { WasmKernel } from "./customKernel.ts";
export { detect, type WasmFeatures } from "./detect.ts";
export type { WasmOptions } from "./options.ts";
