export { createModelStore, type ModelStore } from "./modelStore.ts";
export { idleSnapshot, type ModelSnapshot, type ModelStatus } from "./snapshot.ts";
export type { ModelStoreOptions, RuntimeStoreOptions, StoreModel, WorkerStoreOptions } from "./storeOptions.ts";
