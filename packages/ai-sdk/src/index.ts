export type { EngineModel } from "@centella/llm/engine";
export type { CentellaOptions, GenerationDefaults } from "./centellaOptions.ts";
export type { LoadableModel } from "./ownedModel.ts";
export { type CentellaProvider, centellaModel, createCentella } from "./provider.ts";
export type { AdapterSource, CentellaProviderOptions, LoadedModels, ModelEntry, ModelSource } from "./providerOptions.ts";
