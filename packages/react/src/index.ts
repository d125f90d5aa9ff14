export { CentellaProvider, type CentellaProviderProps } from "./centellaProvider.ts";
export type { EngineProps } from "./engine.ts";
export type { ListedModel, ModelOptions } from "./modelRegistry.ts";
export { type UsedModel, type UseModelOptions, useModel } from "./useModel.ts";
export { useModels } from "./useModels.ts";
