import { useSyncExternalStore } from "react";
import { useRegistry } from "./centellaProvider.ts";
import type { ListedModel } from "./modelRegistry.ts";

const none: readonly ListedModel[] = [];

/** The models that components of the page use, and their states. On the server there are none. */
export function useModels(): readonly ListedModel[] {
  const { subscribe, list } = useRegistry("useModels");
  return useSyncExternalStore(subscribe, list, () => none);
}
