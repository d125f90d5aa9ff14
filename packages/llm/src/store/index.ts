export type { EngineModel } from "../engine/engineModel.ts";
export { createModelStore, type ModelStore } from "./modelStore.ts";
export { idleSnapshot, type ModelSnapshot, type ModelStatus } from "./snapshot.ts";
export type { ModelStoreOptions, RuntimeStoreOptions, WorkerStoreOptions } from "./storeOptions.ts";
