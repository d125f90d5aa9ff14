export { wasm } from "./backend.ts";
export type { WasmOptions } from "./options.ts";
