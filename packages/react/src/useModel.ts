import { type EngineModel, idleSnapshot, type ModelSnapshot, type ModelStore } from "@centella/llm/store";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { useRegistry } from "./centellaProvider.ts";
import type { ModelOptions, ModelRegistry, ModelSource, SharedModel } from "./modelRegistry.ts";

/** Options of {@link useModel}. */
export interface UseModelOptions extends ModelOptions {
  /** Load the model only when `load()` is called. Default: when the component is mounted. */
  readonly lazy?: boolean | undefined;
  /**
   * Suspend the component until the model is loaded, and throw the error if it cannot be. The provider must be outside of the `Suspense`.
   * Default false.
   */
  readonly suspense?: boolean | undefined;
}

/** The state of a model, and what can be done with it. */
export interface UsedModel extends ModelSnapshot, Pick<ModelStore, "load" | "cancel" | "unload"> {
  /** The loaded model. */
  readonly model: EngineModel | undefined;
}

/**
 * The model of a source and options, which components of a page share. It is loaded when the first one is mounted, and unloaded a moment
 * after the last one has left. On the server its status is "idle".
 *
 * Options are compared by their content; files, bytes and functions are compared by identity, so keep them between renders.
 * @throws {ArgumentError} while rendering, for a wrong option
 */
export function useModel(source: ModelSource, { lazy = false, suspense = false, ...options }: UseModelOptions = {}): UsedModel {
  const registry = useRegistry("useModel");
  const shared = registry.find(source, options);
  const { store } = shared;
  const snapshot = useSyncExternalStore(store.subscribe, store.getSnapshot, () => idleSnapshot);
  useEffect(() => {
    const release = registry.retain(shared);
    if (!lazy && store.getSnapshot().status === "idle") void store.load();
    return release;
  }, [registry, shared, store, lazy]);
  if (suspense) suspendUntilLoaded(registry, shared);
  return useMemo(() => {
    const { model, load, cancel, unload } = store;
    return { ...snapshot, model, load, cancel, unload };
  }, [snapshot, store]);
}

/** @throws the promise of the load, for `Suspense`; the error of a load that failed */
function suspendUntilLoaded(registry: ModelRegistry, shared: SharedModel): void {
  const { status, error } = shared.store.getSnapshot();
  if (status === "error" || status === "lost") throw error;
  if (status === "ready" || status === "generating") return;
  if (typeof document === "undefined") throw new Error("useModel: models are loaded in the browser; the server sends the fallback");
  throw loadUnmounted(registry, shared);
}

/** Time that React may take to mount a component whose promise has resolved, in ms. It shows a fallback for at least 300. */
const revealMs = 1000;

/** Loads a model for a component that is not mounted while it is suspended. If it never is, the model is unloaded again. */
async function loadUnmounted(registry: ModelRegistry, shared: SharedModel): Promise<void> {
  // Other components must not be told of the load while this one is rendered.
  await Promise.resolve();
  await shared.store.load().catch(() => undefined);
  registry.releaseLater(shared, revealMs);
}
