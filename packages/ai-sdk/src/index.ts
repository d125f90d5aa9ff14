export type { EngineModel } from "@centella/llm/engine";
export type { CentellaOptions, GenerationDefaults } from "./centellaOptions.ts";
export { type CentellaProvider, centellaModel, createCentella } from "./provider.ts";
export type { CentellaProviderOptions, ModelSource } from "./providerOptions.ts";
